/**
 * Units that depend on one another, and enabled and conditional ones.
 *
 * @module
 */

import assert from "node:assert/strict";
import { leakless, shell, startRig } from "tests/units/manager/os/rig.ts";

const SLEEP = shell("exec sleep 1000");
const FAIL = shell("exit 1", "X-FleetctlReady=log");

async function states(rig: Awaited<ReturnType<typeof startRig>>, ...units: string[]) {
  return (await rig.manager.status(units)).map((one) => one.active);
}

leakless(
  "start() fails when a required unit fails, but not when a wanted one fails",
  async () => {
    await using rig = await startRig({
      "bad.service": FAIL,
      "needs.service": `[Unit]\nRequires=bad.service\nAfter=bad.service\n${SLEEP}`,
      "wants.service": `[Unit]\nWants=bad.service\nAfter=bad.service\n${SLEEP}`,
      "gap.service": `[Unit]\nRequires=none.service\n${SLEEP}`,
    });
    await assert.rejects(
      rig.manager.start("needs.service"),
      /dependency "bad.service" is not running/,
    );
    await assert.rejects(
      rig.manager.start("gap.service"),
      /dependency "none.service" is not running/,
    );
    await rig.manager.start("wants.service");
    assert.deepEqual(
      await states(rig, "needs.service", "gap.service", "wants.service"),
      ["inactive", "inactive", "active"],
    );
  },
);

leakless("stop() and restart() carry along what depends on a unit", async () => {
  await using rig = await startRig({
    "a.service": SLEEP,
    "b.service": `[Unit]\nRequires=a.service\nAfter=a.service\n${SLEEP}`,
    "c.service": `[Unit]\nPartOf=a.service\nAfter=a.service\n${SLEEP}`,
    "idle.service": `[Unit]\nRequires=a.service\n${SLEEP}`,
  });
  await rig.manager.start("b.service");
  await rig.manager.start("c.service");
  const pids = async () =>
    (await rig.manager.status(["a.service", "b.service", "c.service"])).map((one) => one.mainPid);
  const before = await pids();
  await rig.manager.restart("a.service");
  const after = await pids();
  assert.equal(new Set([...before, ...after]).size, 6);
  assert.deepEqual(await states(rig, "idle.service"), ["inactive"]);
  await rig.manager.stop("a.service");
  assert.deepEqual(
    await states(rig, "a.service", "b.service", "c.service"),
    ["inactive", "inactive", "inactive"],
  );
});

leakless("a unit that is bound to another is stopped when that one dies", async () => {
  await using rig = await startRig({
    "a.service": SLEEP,
    "b.service": `[Unit]\nBindsTo=a.service\nAfter=a.service\n${SLEEP}`,
  });
  await rig.manager.start("b.service");
  Deno.kill((await rig.manager.status(["a.service"]))[0]?.mainPid ?? 0, "SIGKILL");
  await rig.next("stopped", "b.service");
});

leakless(
  "startEnabled() starts what is enabled; a failing or faulty unit holds up no other",
  async () => {
    const install = "[Install]\nWantedBy=multi-user.target\n";
    await using rig = await startRig({
      "a.service": SLEEP + install,
      "bad.service": FAIL + install,
      "off.service": SLEEP + install,
      "faulty.service": `[Service]\nExecStart=relative\n${install}`,
      "plain.service": SLEEP,
      "u@.service": shell("exec sleep 1000", install),
    });
    assert.deepEqual(rig.manager.faults(), [{
      unit: "faulty.service",
      details: [
        'faulty.service: [Service] ExecStart: the program "relative" must be an absolute path',
        "faulty.service: [Service] ExecStart: 0 usable commands, must be exactly one",
      ],
    }]);
    for (const unit of ["a", "bad", "off", "plain", "u@x"]) {
      await rig.manager.enable(
        `${unit}.service`,
      );
    }
    await rig.manager.enable("a.service");
    await assert.rejects(rig.manager.enable("faulty.service"), /its file is invalid/);
    await rig.manager.disable("off.service");
    await rig.manager.disable("../../outside");
    assert.equal(
      await Deno.readLink(`${rig.paths.units}/multi-user.target.wants/a.service`),
      "../a.service",
    );
    const outcomes = await rig.manager.startEnabled();
    assert.deepEqual(
      outcomes.map((one) => [one.unit, one.fault === undefined]),
      [["a.service", true], ["bad.service", false], ["u@x.service", true]],
    );
    const [faulty] = await rig.manager.status(["faulty.service"]);
    assert.equal(faulty?.active, "failed");
    assert.match(faulty?.reason ?? "", /^refused faulty.service: \[Service\] ExecStart/);
  },
);

leakless("a unit whose condition does not hold is passed over without a fault", async () => {
  await using rig = await startRig({
    "a.service": `[Unit]\nConditionPathExists=/no/such\n${SLEEP}`,
    "b.service": `[Unit]\nConditionPathExists=!/no/such\n${SLEEP}`,
  });
  await rig.manager.start("a.service");
  await rig.manager.start("b.service");
  assert.deepEqual(await states(rig, "a.service", "b.service"), ["inactive", "active"]);
});

leakless("a reload takes effect at the next start, and a drop-in is part of its unit", async () => {
  await using rig = await startRig({ "a.service": shell("echo one; exec sleep 1000") });
  await rig.manager.start("a.service");
  const before = (await rig.manager.status(["a.service"]))[0]?.mainPid;
  await Deno.mkdir(`${rig.paths.units}/a.service.d`);
  await rig.write({ "a.service.d/50.conf": "[Service]\nExecStart=\nExecStart=/bin/sleep 1001\n" });
  assert.equal((await rig.manager.status(["a.service"]))[0]?.mainPid, before);
  await rig.manager.restart("a.service");
  const pid = (await rig.manager.status(["a.service"]))[0]?.mainPid;
  assert.equal(await Deno.readTextFile(`/proc/${pid}/cmdline`), "/bin/sleep\x001001\0");
});

leakless("a unit that is not there, or has no name of a unit, is refused", async () => {
  await using rig = await startRig();
  for (const unit of ["none.service", "../../etc/passwd", "a.service/../b.service", "", "x"]) {
    await assert.rejects(rig.manager.start(unit), /its unit file does not exist/);
    assert.equal((await rig.manager.status([unit]))[0]?.load, "not-found");
  }
  await assert.rejects(rig.manager.journal("../../etc/passwd", 5), /not a unit/);
});
