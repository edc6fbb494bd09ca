/**
 * The state file of a dial unit: the newest state counts, and a full disk stops nothing.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseReportedState } from "core/dial/host_state.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { createStateFile } from "units/dial/state_file.ts";

Deno.test("createStateFile() keeps the newest of many states", async () => {
  const { files, clock, log } = memoryHost({ now: 5_000 });
  await files.ensureDir("/d");
  const file = createStateFile({ files, clock, log, folder: "/d" });
  file.write("starting", undefined);
  file.write("idle", undefined);
  await clock.advance(10);
  file.write("failed", "it broke");
  await file.settled();
  const reported = parseReportedState(await files.readText("/d/state.json") ?? "");
  assert.deepEqual(reported, {
    startedMs: 5_000,
    state: "failed",
    sinceMs: 5_010,
    reason: "it broke",
  });
  assert.equal((await files.stat("/d/state.json"))?.mode, 0o600);
  await file.settled();
});

Deno.test("createStateFile() logs what it could not write, and continues", async () => {
  const { files, clock, log } = memoryHost();
  let isFull = true;
  const full = {
    write: async (...args: Parameters<typeof files.write>) => {
      if (isFull) throw new Error("no space left");
      await files.write(...args);
    },
  };
  await files.ensureDir("/d");
  const file = createStateFile({ files: full, clock, log, folder: "/d" });
  file.write("idle", undefined);
  await file.settled();
  assert.equal(await files.readText("/d/state.json"), undefined);
  isFull = false;
  file.write("working", undefined);
  await file.settled();
  assert.equal(parseReportedState(await files.readText("/d/state.json") ?? "")?.state, "working");
});
