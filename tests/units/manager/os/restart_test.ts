/**
 * What happens after a service ends by itself.
 *
 * @module
 */

import assert from "node:assert/strict";
import { leakless, READY_LINE, shell, startRig } from "tests/units/manager/os/rig.ts";

leakless("a failing service is started again with a growing delay until the limit", async () => {
  await using rig = await startRig({
    "a.service": "[Unit]\nStartLimitBurst=4\nStartLimitIntervalSec=60\n" +
      shell("exit 7", "Restart=on-failure\nRestartSec=10ms\nX-FleetctlReady=log"),
  });
  await assert.rejects(rig.manager.start("a.service"), /exit-code 7/);
  const failed = await rig.until((event) => event.kind === "failed");
  assert.equal(failed.reason, "start-limit 4 starts within 60 s");
  const delays = rig.events.filter((event) => event.kind === "restarting")
    .map((event) => event.delayMs);
  assert.deepEqual(delays, [10, 20, 40, 80]);
  const [status] = await rig.manager.status(["a.service"]);
  assert.deepEqual([status?.active, status?.restarts], ["failed", 4]);
});

leakless("start() tries again at once after the limit was reached", async () => {
  await using rig = await startRig({
    "a.service": "[Unit]\nStartLimitBurst=1\n" +
      shell(
        "test -e ok && exec sleep 1000; exit 1",
        "Restart=always\nRestartSec=1ms\nX-FleetctlReady=log",
      ),
  });
  await assert.rejects(rig.manager.start("a.service"), /exit-code 1/);
  await rig.until((event) => event.kind === "failed");
  await rig.write({ "a.service": shell("exec sleep 1000") });
  await rig.manager.start("a.service");
  assert.equal((await rig.manager.status(["a.service"]))[0]?.active, "active");
});

leakless("a killed service comes back and keeps its unit", async () => {
  await using rig = await startRig({
    "a.service": shell("exec sleep 1000", "Restart=on-failure\nRestartSec=1ms"),
  });
  await rig.manager.start("a.service");
  const first = await rig.next("ready", "a.service");
  Deno.kill(first.pid ?? 0, "SIGKILL");
  const again = await rig.next("restarting", "a.service");
  assert.equal(again.reason, "signal SIGKILL");
  const second = await rig.next("ready", "a.service");
  assert.notEqual(second.pid, first.pid);
});

leakless("a service that may not be started again fails and stays down", async () => {
  await using rig = await startRig({
    "a.service": shell("exit 2", "Restart=always\nRestartPreventExitStatus=2"),
  });
  await rig.manager.start("a.service").catch(() => {});
  const failed = await rig.until((event) => event.kind === "failed");
  assert.equal(failed.reason, "exit-code 2");
  assert.equal(rig.events.some((event) => event.kind === "restarting"), false);
});

leakless("stop() during the delay ends the service at once", async () => {
  await using rig = await startRig({
    "a.service": shell("exit 1", "Restart=always\nRestartSec=1h\nX-FleetctlReady=log"),
  });
  await assert.rejects(rig.manager.start("a.service"));
  await rig.next("restarting", "a.service");
  await rig.manager.stop("a.service");
  assert.equal((await rig.manager.status(["a.service"]))[0]?.active, "inactive");
});

leakless("start() during the delay starts the service at once", async () => {
  await using rig = await startRig();
  const flag = rig.path("flag");
  await rig.write({
    "a.service": shell(
      `test -e ${flag} || exit 1; ${READY_LINE}; exec sleep 1000`,
      "Restart=always\nRestartSec=1h\nX-FleetctlReady=log",
    ),
  });
  await assert.rejects(rig.manager.start("a.service"));
  await rig.next("restarting", "a.service");
  await Deno.writeTextFile(flag, "");
  await rig.manager.start("a.service");
  assert.equal((await rig.manager.status(["a.service"]))[0]?.active, "active");
});

leakless("a service that is never ready is ended after TimeoutStartSec", async () => {
  await using rig = await startRig({
    "a.service": shell("exec sleep 1000", "TimeoutStartSec=50ms\nX-FleetctlReady=log"),
  });
  await assert.rejects(rig.manager.start("a.service"), /timeout not ready within 0.05 s/);
});

leakless("a service is ended after RuntimeMaxSec", async () => {
  await using rig = await startRig({
    "a.service": shell("exec sleep 1000", "RuntimeMaxSec=30ms"),
  });
  await rig.manager.start("a.service");
  const failed = await rig.until((event) => event.kind === "failed");
  assert.equal(failed.reason, "runtime-limit of 0.03 s");
});

leakless("a service over MemoryMax is killed and reported as such", async () => {
  await using rig = await startRig({
    // Doubles a variable until the memory limit stops it.
    "a.service": shell("x=0123456789; while :; do x=$x$x; done", "MemoryMax=48M"),
  });
  await rig.manager.start("a.service");
  const failed = await rig.until((event) => event.kind === "failed");
  assert.match(failed.reason ?? "", /^memory-limit \d+ MiB of 48 MiB$/);
});

leakless("a one-shot is started when it has run, and remains if it says so", async () => {
  await using rig = await startRig({
    "a.service": shell("exit 0", "Type=oneshot\nRemainAfterExit=yes"),
    "b.service": shell("exit 0", "Type=oneshot"),
    "c.service": shell("exit 1", "Type=oneshot"),
  });
  await rig.manager.start("a.service");
  await rig.manager.start("b.service");
  await assert.rejects(rig.manager.start("c.service"), /exit-code 1/);
  const states = await rig.manager.status(["a.service", "b.service", "c.service"]);
  assert.deepEqual(states.map((one) => one.active), ["active", "inactive", "failed"]);
});
