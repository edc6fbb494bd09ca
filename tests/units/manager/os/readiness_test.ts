/** When a service counts as started. @module */

import assert from "node:assert/strict";
import { ServiceFault } from "units/manager/service_manager.ts";
import { leakless, READY_LINE, shell, startRig } from "tests/units/manager/os/rig.ts";

leakless("start() resolves when the log says ready", async () => {
  await using rig = await startRig();
  const fifo = rig.path("gate");
  await new Deno.Command("/usr/bin/mkfifo", { args: [fifo] }).output();
  await rig.write({
    "a.service": shell(`read x < ${fifo}; ${READY_LINE}; exec sleep 1000`, "X-FleetctlReady=log"),
  });
  const started = rig.manager.start("a.service");
  await rig.next("starting", "a.service");
  assert.equal((await rig.manager.status(["a.service"]))[0]?.active, "activating");
  await Deno.writeTextFile(fifo, "go\n");
  await started;
  const [status] = await rig.manager.status(["a.service"]);
  assert.equal(status?.active, "active");
  assert(status?.mainPid !== undefined && status.mainPid > 1);
});

leakless("start() rejects with the log when the unit dies before it is ready", async () => {
  await using rig = await startRig({
    "a.service": shell("echo no database >&2; exit 3", "X-FleetctlReady=log"),
  });
  await assert.rejects(rig.manager.start("a.service"), (thrown) => {
    assert(thrown instanceof ServiceFault);
    assert.equal(thrown.message, 'Cannot start unit "a.service": exit-code 3');
    assert.equal(thrown.journal[0], "no database");
    return true;
  });
  const [status] = await rig.manager.status(["a.service"]);
  assert.deepEqual([status?.active, status?.reason], ["failed", "exit-code 3"]);
});

leakless(
  "a fault shows the lines of the run that failed, not those of runs before it",
  async () => {
    await using rig = await startRig({
      "a.service": shell(
        `echo old words >&2; ${READY_LINE}; exec sleep 1000`,
        "X-FleetctlReady=log",
      ),
    });
    await rig.manager.start("a.service");
    await rig.manager.stop("a.service");
    await rig.write({
      "a.service": shell("echo new words >&2; exit 3", "X-FleetctlReady=log"),
    });
    await rig.manager.reload();
    await assert.rejects(rig.manager.start("a.service"), (thrown) => {
      assert(thrown instanceof ServiceFault);
      assert.deepEqual(thrown.journal, ["new words", "a.service: exit-code 3"]);
      return true;
    });
    const failed = await rig.until((event) => event.kind === "failed");
    assert.deepEqual(failed.journal, ["new words", "a.service: exit-code 3"]);
    const all = await rig.manager.journal("a.service", 10);
    assert.equal(all[0], "old words");
  },
);
