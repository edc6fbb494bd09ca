/**
 * Faults of a socket, from its file and its listeners.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { FileStat } from "core/files/file_stat.ts";
import { observeSockets, socketFault } from "units/reconcile/observe_sockets.ts";
import type { UnitStatus } from "core/ports/unit.ts";

const STAT: FileStat = {
  kind: "other",
  mode: 0o600,
  uid: 1001,
  gid: 1001,
  size: 0,
  mtimeMs: 0,
  ctimeMs: 0,
  dev: 1,
  ino: 1,
};
const WANTED = { unit: "a.socket", path: "/a", mode: 0o600, owner: { uid: 1001, gid: 1001 } };

Deno.test("a socket is in order with its file, its owner and one listener", () => {
  const fault = (stat: Partial<FileStat> | undefined, count = 1) =>
    socketFault(WANTED, { stat: stat === undefined ? undefined : { ...STAT, ...stat }, count });
  assert.equal(fault({}), undefined);
  assert.equal(fault(undefined), "its file is gone");
  assert.equal(fault({ kind: "file" }), "a file is at its path");
  assert.equal(fault({}, 0), "it has no listener");
  assert.equal(fault({}, 2), undefined, "any user can add to the number");
  assert.equal(fault({ mode: 0o666 }), "its file is 1001:1001 0666, must be 1001:1001 0600");
  assert.equal(fault({ uid: 0 }), "its file is 0:1001 0600, must be 1001:1001 0600");
  assert.equal(
    socketFault({ unit: "a", path: "/a" }, { stat: { ...STAT, uid: 0 }, count: 1 }),
    undefined,
  );
});

Deno.test("units that are not active, or not ready yet, have no lost socket", async () => {
  const status = (
    unit: string,
    active: UnitStatus["active"],
  ): [string, UnitStatus] => [unit, {
    unit,
    active,
    load: "loaded",
    mainPid: 1,
    since: 1,
    reason: undefined,
    restarts: 0,
  }];
  const wanted = ["down.socket", "starting.service", "lost.service", "lost.socket"];
  const asked: string[] = [];
  const found = await observeSockets(
    wanted.map((unit) => ({ unit, path: `/${unit}` })),
    new Map(wanted.map((unit) => status(unit, unit.startsWith("down") ? "failed" : "active"))),
    {
      files: { stat: async () => undefined },
      services: {
        listeners: async () => new Map(),
        isReady: async (unit) => {
          asked.push(unit);
          return unit !== "starting.service";
        },
      },
    },
  );
  assert.deepEqual([...found.keys()].sort(), ["lost.service", "lost.socket"]);
  assert.deepEqual(asked.sort(), ["lost.service", "starting.service"]);
});
