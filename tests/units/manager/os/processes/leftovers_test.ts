/**
 * The processes that a killed manager leaves behind, and which manager may take over.
 *
 * @module
 */

import assert from "node:assert/strict";
import { ENABLED, startManagerProcess, writeEnabled } from "tests/units/manager/os/held_root.ts";
import { startEmbeddedManager } from "units/manager/os/start_manager.ts";
import { openChildRecords, readChildRecords } from "units/manager/os/processes/child_records.ts";
import { endLeftovers } from "units/manager/os/processes/leftovers.ts";
import { readProcess } from "core/os/proc.ts";
import { readBootId } from "units/manager/os/processes/process_table.ts";
import {
  clock,
  connect,
  ended,
  hangUp,
  kernel,
  leakless,
  makeRoot,
  processesOf,
  read,
  realOptions,
  shell,
  startRig,
} from "tests/units/manager/os/rig.ts";

leakless("after kill -9 of a manager the next one ends what is left and says what", async () => {
  const { root, paths } = await makeRoot();
  await writeEnabled(paths, {
    "a.service":
      shell("trap '' TERM; sleep 1000 & while :; do sleep 1000; done", "TimeoutStopSec=50ms") +
      ENABLED,
    "b.service": shell("exec sleep 1000") + ENABLED,
    "e.socket": `[Socket]\nListenStream=${root}/run/e.sock\nAccept=yes\n${ENABLED}`,
    "e@.service": "[Service]\nExecStart=/bin/cat\nStandardInput=socket\n",
  });
  const first = await startManagerProcess(root);
  assert.equal(first.lines.at(-1), "up");
  const client = await connect(`${root}/run/e.sock`);
  client.write("x");
  await read(client, 1);
  first.signal("SIGKILL");
  await first.ended();
  assert(processesOf(paths).length >= 4);
  // The server of a connection survives the manager: only the next manager ends it.
  client.write("y");
  assert.equal(await read(client, 1), "y");

  await using rig = await startRig({}, { paths });
  await ended(client);
  await hangUp(client);
  assert.deepEqual(processesOf(paths), []);
  const units = new Set(rig.manager.leftovers.map((one) => one.unit.replace(/@.*/, "@")));
  assert.deepEqual([...units].sort(), ["a.service", "b.service", "e@"]);
  await rig.manager.startEnabled();
  const again = await connect(`${root}/run/e.sock`);
  again.write("z");
  assert.equal(await read(again, 1), "z");
  await hangUp(again);
});

leakless("a second manager of a root is refused, with the process that manages it", async () => {
  const { root, paths } = await makeRoot();
  {
    await using rig = await startRig({ "a.service": shell("exec sleep 1000") }, { paths });
    await rig.manager.start("a.service");
    const second = await startEmbeddedManager(realOptions(paths));
    assert(!second.ok);
    assert.equal(second.error.code, "already-running");
    assert.equal(
      second.error.message,
      `Cannot start services under "${root}": the root is in use by process ${Deno.pid}, ` +
        "must be free",
    );
    const other = await startManagerProcess(root);
    assert.deepEqual(other.lines, ["refused already-running"]);
    await other.ended();
    assert.equal((await rig.manager.status(["a.service"]))[0]?.active, "active");
  }
});

leakless("a second Ctrl-C kills what the first one would wait for", async () => {
  const { root, paths } = await makeRoot();
  await writeEnabled(paths, {
    "a.service": shell("trap '' TERM; while :; do sleep 1000; done", "TimeoutStopSec=1h") + ENABLED,
  });
  const manager = await startManagerProcess(root);
  manager.signal("SIGINT");
  await manager.until("closing");
  manager.signal("SIGINT");
  assert.equal((await manager.ended()).code, 0);
  assert.deepEqual(processesOf(paths), []);
  await Deno.remove(root, { recursive: true });
});

leakless("a pid that was given to someone else is never killed", async () => {
  const { root, paths } = await makeRoot();
  const stranger = new Deno.Command("/bin/sleep", { args: ["1000"] }).spawn();
  const entry = readProcess(kernel, stranger.pid);
  assert(entry !== undefined);
  const boot = readBootId(kernel);
  const path = `${root}/children`;
  const records = openChildRecords(path, boot);
  records.add("a.service", { pid: stranger.pid, start: String(BigInt(entry.start) - 1n) });
  records.close();
  const otherBoot = openChildRecords(`${path}2`, "another-boot");
  otherBoot.add("a.service", { pid: stranger.pid, start: entry.start });
  otherBoot.close();
  for (const list of [path, `${path}2`]) {
    const cleaning = await endLeftovers({
      records: readChildRecords(list),
      boot,
      managerSocket: paths.managerSocket,
      ownPid: Deno.pid,
    }, { kernel, clock });
    assert.deepEqual(cleaning, { ended: [], survivors: [] });
    assert(readProcess(kernel, stranger.pid) !== undefined);
  }
  stranger.kill("SIGKILL");
  await stranger.status;
  await Deno.remove(root, { recursive: true });
});

leakless("the list of children survives a truncated line and omits ended processes", async () => {
  const { root } = await makeRoot();
  const path = `${root}/children`;
  const records = openChildRecords(path, "boot");
  for (let pid = 2; pid < 1500; pid++) {
    records.add("a b.service", { pid, start: "7" });
    if (pid !== 1000) records.remove({ pid, start: "7" });
  }
  records.close();
  assert((await Deno.lstat(path)).mode! % 0o1000 === 0o600);
  await Deno.writeTextFile(path, "+ 99", { append: true });
  assert.deepEqual(readChildRecords(path), [
    { pid: 1000, start: "7", boot: "boot", unit: "a b.service" },
  ]);
  await Deno.remove(root, { recursive: true });
});
