/**
 * The command that repairs a damaged database.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { mendDatabase } from "units/reconcile/damaged_database.ts";

const GATEWAY = {
  unit: "fleetctl-gateway.service",
  paths: pathsUnder("/r"),
  start: "fleetctl apply",
};
const line = (path: string, state: string) =>
  JSON.stringify({ event: "cannot serve", error: `Cannot open ${JSON.stringify(path)}: ${state}` });

Deno.test("mendDatabase() moves the file and its log aside, and reports what is lost", () => {
  for (const state of ["the file is not a database (x)", "the database is damaged (x)"]) {
    const got = mendDatabase(
      [line("/r/gateway/gateway.db", state), "exit-code 1"],
      GATEWAY,
    );
    assert.match(got?.details[0] ?? "", /transcripts and waiting turns are gone/);
    assert.deepEqual(got?.hints, [
      "for f in /r/gateway/gateway.db /r/gateway/gateway.db-wal /r/gateway/gateway.db-shm; " +
      'do [ ! -e "$f" ] || mv "$f" "$f.damaged"; done',
      "fleetctl apply",
    ]);
  }
});

Deno.test("mendDatabase() moves nothing for other faults and other files", () => {
  assert.equal(
    mendDatabase([line("/r/gateway.db", "no space left on the disk")], GATEWAY),
    undefined,
  );
  assert.equal(mendDatabase([line("/r/other.db", "the database is damaged")], GATEWAY), undefined);
  assert.equal(mendDatabase([], GATEWAY), undefined);
});

Deno.test("mendDatabase() trusts an agent's journal only about that agent's database", () => {
  const paths = pathsUnder("/");
  const mend = (unit: string, path: string) =>
    mendDatabase([line(path, "the database is damaged")], { unit, paths, start: "x" });
  const own = "/home/ada/.fleetctl/dial/dial.db";
  const ada = "fleetctl-dial-ada.service";
  assert.notEqual(mend(ada, own), undefined);
  for (
    const path of [
      "/var/lib/fleetctl/gateway/gateway.db",
      "/home/bob/.fleetctl/dial/dial.db",
      "/home/ada/.fleetctl/dial/../../../../var/lib/fleetctl/gateway/gateway.db",
    ]
  ) assert.equal(mend(ada, path), undefined, path);
  assert.equal(mend("mcp-git-ada.socket", own), undefined);
});
