/**
 * How services are stopped, together with all their child processes.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readProcess, readTable } from "core/os/proc.ts";
import {
  kernel,
  leakless,
  processesOf,
  READY_LINE,
  shell,
  startRig,
} from "tests/units/manager/os/rig.ts";

const READY_KEY = "X-FleetctlReady=log";

leakless("stop() kills a service that ignores SIGTERM, with its children", async () => {
  await using rig = await startRig({
    "a.service": shell(
      `trap '' TERM; (trap '' TERM; sleep 1000) & ${READY_LINE}; while :; do sleep 1000; done`,
      `${READY_KEY}\nTimeoutStopSec=100ms`,
    ),
  });
  await rig.manager.start("a.service");
  assert(processesOf(rig.paths).length >= 3);
  await rig.manager.stop("a.service");
  assert.deepEqual(processesOf(rig.paths), []);
  assert.equal((await rig.manager.status(["a.service"]))[0]?.active, "inactive");
});

leakless("a service that dies takes its children along, even from another session", async () => {
  await using rig = await startRig();
  const script = rig.path("daemon.sh");
  await Deno.writeTextFile(script, `sleep 1000 &\n${READY_LINE}\nsleep 1000\n`);
  await rig.write({
    "a.service": shell(`setsid /bin/sh ${script} & exec sleep 1000`, READY_KEY),
  });
  await rig.manager.start("a.service");
  assert(processesOf(rig.paths).length >= 3);
  const [status] = await rig.manager.status(["a.service"]);
  Deno.kill(status?.mainPid ?? 0, "SIGKILL");
  await rig.until((event) => event.kind === "failed");
  assert.deepEqual(processesOf(rig.paths), []);
});

leakless("a stopped (SIGSTOP) service is ended, too", async () => {
  await using rig = await startRig({ "a.service": shell("exec sleep 1000") });
  await rig.manager.start("a.service");
  const [status] = await rig.manager.status(["a.service"]);
  Deno.kill(status?.mainPid ?? 0, "SIGSTOP");
  await rig.manager.stop("a.service");
  assert.deepEqual(processesOf(rig.paths), []);
});

leakless("KillMode=mixed asks only the main process", async () => {
  await using rig = await startRig();
  const signals = rig.path("heard");
  await rig.write({
    "a.service": shell(
      `(trap 'echo child >> ${signals}' TERM; ${READY_LINE}; while :; do sleep 0.01; done) & ` +
        `trap 'echo main >> ${signals}; exit 0' TERM; while :; do sleep 0.01; done`,
      `${READY_KEY}\nKillMode=mixed`,
    ),
  });
  await rig.manager.start("a.service");
  await rig.manager.stop("a.service");
  assert.equal(await Deno.readTextFile(signals), "main\n");
  assert.deepEqual(processesOf(rig.paths), []);
});

leakless("KillMode=process lets children finish, but not outlive the manager", async () => {
  await using rig = await startRig();
  const script = rig.path("verb.sh");
  const [question, answer] = [rig.path("question"), rig.path("answer")];
  await new Deno.Command("/usr/bin/mkfifo", { args: [question, answer] }).output();
  // A child with its own session and environment, like the verbs that the daemon starts.
  await Deno.writeTextFile(
    script,
    `${READY_LINE}\nread line < ${question}\necho "heard $line"\n` +
      `echo done > ${answer}\nsleep 1000\n`,
  );
  await rig.write({
    "a.service": shell(
      `setsid env -i PATH=$PATH /bin/sh ${script} & while :; do sleep 1000; done`,
      `${READY_KEY}\nKillMode=process`,
    ),
  });
  const verbs = () =>
    readTable(kernel).map((entry) => entry.pid)
      .filter((pid) => kernel.readProc(`/proc/${pid}/cmdline`) === `/bin/sh\0${script}\0`);
  await rig.manager.start("a.service");
  const [verb] = verbs();
  await rig.manager.stop("a.service");
  assert.deepEqual(verbs(), [verb]);
  assert((await Deno.readTextFile(`${rig.paths.managerState}/children`)).includes(`+ ${verb} `));
  await Deno.writeTextFile(question, "you\n");
  assert.equal(await Deno.readTextFile(answer), "done\n");
  await rig.manager.close();
  assert.equal(readProcess(kernel, verb ?? 0), undefined);
  const log = await Deno.readTextFile(`${rig.paths.logs}/a.service.log`);
  assert(log.includes("heard you"), log);
});

leakless("close() stops dependents before what they need", async () => {
  await using rig = await startRig({
    "a.service": shell("exec sleep 1000"),
    "b.service": "[Unit]\nRequires=a.service\nAfter=a.service\n" + shell("exec sleep 1000"),
    "c.service": "[Unit]\nRequires=b.service\nAfter=b.service\n" + shell("exec sleep 1000"),
  });
  await rig.manager.start("c.service");
  await rig.manager.close();
  const order = (kind: string) =>
    rig.events.filter((event) => event.kind === kind).map((event) => event.unit);
  assert.deepEqual(order("ready"), ["a.service", "b.service", "c.service"]);
  assert.deepEqual(order("stopped"), ["c.service", "b.service", "a.service"]);
});

leakless("kill() ends at once what close() would wait for", async () => {
  await using rig = await startRig({
    "a.service": shell(
      `trap '' TERM; ${READY_LINE}; while :; do sleep 1000; done`,
      `${READY_KEY}\nTimeoutStopSec=1h`,
    ),
  });
  await rig.manager.start("a.service");
  const closed = rig.manager.close();
  rig.manager.kill();
  await closed;
  assert.deepEqual(processesOf(rig.paths), []);
});

leakless("nothing is started any more once the manager closes", async () => {
  await using rig = await startRig({ "a.service": shell("exec sleep 1000") });
  await rig.manager.close();
  await assert.rejects(rig.manager.start("a.service"), /the manager is stopping/);
});
