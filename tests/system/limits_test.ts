/**
 * The limits of agents on a host that enforces them. A command that exhausts memory or tasks fails
 * alone: its agent and the host run on. A new limit applies without a restart.
 *
 * @module
 */

import assert from "node:assert/strict";
import { bootHost } from "tests/support/booted_host.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import { buildPackage } from "tests/support/built_package.ts";
import {
  copyInto,
  DIAL,
  installPackage,
  PackagedHost,
  ROLES,
} from "tests/support/packaged_host.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";
import { ENTRIES_OF_UP } from "tests/support/up_process.ts";

const SLICE = "fleetctl-agents-ada.slice";
const MIB = 1024 ** 2;
const MEMORY_MIB = 512;
const TASKS = 256;

/** Returns the processes of ada's session: the dial unit and its runtime. */
async function session(scene: PackagedHost): Promise<readonly string[]> {
  const runtime = await scene.must("pgrep", "-u", "ada", "-f", "fleetctl-runtime");
  return [await scene.property(DIAL, "MainPID"), runtime.trim()];
}

async function bash(scene: PackagedHost, command: string): Promise<string> {
  const { answer } = await scene.turn(`call bash ${JSON.stringify({ command })}`);
  return answer;
}

async function setUp(scene: PackagedHost): Promise<void> {
  for (const name of ENTRIES_OF_UP) {
    await copyInto(scene.host, `${VENDOR_CACHE}/${name}`, "/var/lib/fleetctl/vendor-cache");
  }
  await Deno.writeTextFile(`${scene.host.root}/etc/fleetctl/roles.yaml`, ROLES);
  await scene.must(
    "fleetctl",
    "agents",
    "add",
    "ada",
    "--channel",
    "webview",
    "--user-email",
    "ada@example.org",
    "--io-weight",
    "20",
  );
  await scene.must("fleetctl", "mcp", "add", "git", "ada");
  await scene.must("fleetctl", "apply");
  assert.match(await scene.must("fleetctl", "status"), /nothing is wrong/);
}

/** Agents get less than the whole host, and the limits that the verb shows are in force. */
async function checkDefaults(scene: PackagedHost): Promise<void> {
  const has = Number(/MemTotal: +(\d+) kB/.exec(await scene.must("cat", "/proc/meminfo"))?.[1]);
  const all = Number(await scene.property("fleetctl.slice", "MemoryMax"));
  assert.ok(all > 0 && has * 1024 - all >= 512 * MIB, `${all} of ${has} kB`);
  const shown = JSON.parse(await scene.must("fleetctl", "agents", "show", "ada", "--json"));
  const { memory_max, tasks_max, cpu_weight, io_weight } = shown.limits_in_force;
  const max = Number(await scene.property(SLICE, "MemoryMax"));
  assert.equal(memory_max, max % (1024 * MIB) === 0 ? `${max / 1024 / MIB}G` : `${max / MIB}M`);
  assert.equal(String(tasks_max), await scene.property(SLICE, "TasksMax"));
  assert.deepEqual([cpu_weight, io_weight], [100, 20]);
  // This kernel lacks controllers for these limits, so only their text can be checked.
  const text = await scene.must("systemctl", "cat", SLICE);
  assert.match(text, /^MemoryHigh=\d+$/m);
  assert.match(text, /^CPUWeight=100\nIOWeight=20$/m);
}

/** The agent runs on with new limits; so does the server of its next call. */
async function checkNewLimits(scene: PackagedHost): Promise<void> {
  const before = await session(scene);
  const output = await scene.must(
    "fleetctl",
    "agents",
    "set",
    "ada",
    "--memory-max",
    `${MEMORY_MIB}M`,
    "--tasks-max",
    String(TASKS),
  );
  assert.match(output, /agent "ada" has a new memory_max, tasks_max, from now on/);
  assert.doesNotMatch(output, /restart/);
  assert.equal(await scene.property(SLICE, "MemoryMax"), String(MEMORY_MIB * MIB));
  assert.equal(await scene.property(SLICE, "TasksMax"), String(TASKS));
  await scene.must("fleetctl", "apply");
  assert.deepEqual(await session(scene), before);
  await scene.turn("last commit of /home/ada");
  const server = await scene.serverUnit("mcp-git-ada@*.service");
  const group = await scene.must("cat", `/proc/${await scene.property(server, "MainPID")}/cgroup`);
  assert.ok(group.includes(`/fleetctl.slice/fleetctl-agents.slice/${SLICE}/${server}`), group);
}

/** Only the process that exhausts memory is killed. */
async function checkMemory(scene: PackagedHost): Promise<void> {
  const before = await session(scene);
  const answer = await bash(scene, "tail /dev/zero; echo status $?");
  assert.match(answer, /status 137/);
  assert.match(await bash(scene, "tail /dev/zero"), /killed, as the system does when memory runs/);
  // Many small processes: none of them is larger than the runtime.
  const one = "python3 -c 'import time; x = b\"x\" * 2**25; time.sleep(600)'";
  const many = await bash(scene, `for i in $(seq 60); do ${one} & done; wait -n; echo ended $?`);
  assert.match(many, /ended 137|signal SIGKILL/);
  assert.deepEqual(await session(scene), before, "the agent's own programs go on");
  assert.match(await bash(scene, "echo still here"), /still here/);
}

/** Forks until the kernel refuses, prints the reason, and ends its children. */
const FORKS = `python3 -c '
import os, signal
children = []
try:
    while len(children) < 2000:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
    print("no end")
except OSError as refused:
    print(refused.strerror, len(children))
for child in children:
    os.kill(child, signal.SIGKILL)
'`;

/**
 * A program that forks endlessly reaches its task limit, while the host can still start processes.
 */
async function checkTasks(scene: PackagedHost): Promise<void> {
  // The memory that so many processes need is not under test here.
  await scene.must("fleetctl", "agents", "set", "ada", "--memory-max", "");
  const before = await session(scene);
  const answer = await bash(scene, FORKS);
  const started = Number(/Resource temporarily unavailable (\d+)/.exec(answer)?.[1]);
  assert.ok(started > 0 && started < TASKS, answer);
  assert.match(await scene.must("fleetctl", "status"), /nothing is wrong/);
  assert.deepEqual(await session(scene), before);
  assert.match(await bash(scene, "echo still here"), /still here/);
}

/** Sets a ceiling, which holds from now on: the agent's programs run on. */
async function setCeiling(scene: PackagedHost, ceiling: string): Promise<void> {
  const before = await scene.property(DIAL, "InvocationID");
  const said = await scene.must("fleetctl", "agents", "set", "ada", "--ceiling", ceiling);
  assert.match(said, /agent "ada" has a new ceiling, from now on/);
  await scene.must("fleetctl", "apply");
  assert.equal(await scene.property(DIAL, "InvocationID"), before);
}

/** Sends a turn from the command line; returns its exit code and all output. */
async function hostTurn(scene: PackagedHost): Promise<{ code: number | undefined; text: string }> {
  const { code, out, err } = await scene.host.exec(["fleetctl", "turn", "ada", "hello"]);
  return { code, text: out + err };
}

/** At its ceiling the agent pauses, and goes on when the operator allows more. */
async function checkCeiling(scene: PackagedHost): Promise<void> {
  await setCeiling(scene, "day=1-tokens");
  const before = await hostTurn(scene);
  assert.notEqual(before.code, 0, before.text);
  assert.match(before.text, /has spent .* tokens of the 1 token that it may spend this day/);
  assert.match(before.text, /fleetctl ceilings allow ada day=\S+-tokens/);
  assert.match(await scene.must("fleetctl", "status"), /paused: ceiling of this day reached/);
  const own = await scene.host.exec(["fleetctl", "ceilings", "allow", "ada", "day=9m-tokens"], {
    user: "ada",
  });
  assert.equal(own.code, 4, own.out + own.err);
  const allowed = await scene.must("fleetctl", "ceilings", "allow", "ada", "day=9m-tokens");
  assert.match(allowed, /9,000,001 tokens/);
  assert.doesNotMatch(await scene.must("fleetctl", "status"), /paused/);
  const after = await hostTurn(scene);
  assert.equal(after.code, 0, after.text);
}

/** What the owner allows in the page lets the turn go on. */
async function checkOwnerCard(scene: PackagedHost): Promise<void> {
  await setCeiling(scene, "hour=1-tokens+9m-tokens");
  const { answer } = await scene.turn("what can you do", { approves: true });
  assert.notEqual(answer, "undefined");
  const listed = JSON.parse(await scene.must("fleetctl", "ceilings", "list", "ada", "--json"));
  const [{ limit, owner_left }] = listed.ceilings;
  assert.ok(limit > 1 && limit + owner_left === 9_000_001, `${limit} and ${owner_left}`);
}

const UNTIL_OTHER_SUMS =
  'while [ "$old" = "$(cat /var/lib/fleetctl/host-ceilings.json)" ]; do sleep 0.5; done';

/** At the ceiling of the host every agent pauses, until an operator allows more. */
async function checkHostCeiling(scene: PackagedHost): Promise<void> {
  await setCeiling(scene, "");
  const set = await scene.must("fleetctl", "ceilings", "host", "set", "day=1-tokens");
  assert.match(set, /\(all agents\) +day .* 1 token +- +reached/);
  const before = await hostTurn(scene);
  assert.notEqual(before.code, 0, before.text);
  assert.match(before.text, /all agents of this host have spent .* of the 1 token that they may/);
  const hint = /fleetctl ceilings host allow day=\S+-tokens/.exec(before.text)?.[0];
  assert.ok(hint !== undefined, before.text);
  const status = await scene.host.exec(["fleetctl", "status"]);
  assert.match(status.out, /paused: ceiling of the host/);
  assert.match(status.out, /The agents have spent .* All pause until/);
  const own = await scene.host.exec([...hint.split(" ")], { user: "ada" });
  assert.equal(own.code, 4, own.out + own.err);
  await scene.must("fleetctl", "ceilings", "host", "allow", "day=9m-tokens");
  const after = await hostTurn(scene);
  assert.equal(after.code, 0, after.text);
  // The daemon takes the next sum; an agent cannot write it.
  const sums = "/var/lib/fleetctl/host-ceilings.json";
  await scene.must("timeout", "90", "sh", "-c", `old=$(cat ${sums}); ${UNTIL_OTHER_SUMS}`);
  const bad = await scene.host.exec(["sh", "-c", `echo x >${sums}`], { user: "ada" });
  assert.notEqual(bad.code, 0);
  const hidden = await scene.host.exec(["cat", "/var/lib/fleetctl/host-spending.json"], {
    user: "ada",
  });
  assert.notEqual(hidden.code, 0);
  assert.match(await scene.must("fleetctl", "ceilings", "host", "set", ""), /no spend ceiling/);
}

/** The dial unit reads the host's prices: an unusable file pauses a ceiling in dollars. */
async function checkPrices(scene: PackagedHost): Promise<void> {
  await setCeiling(scene, "day=5usd");
  const free = await hostTurn(scene);
  assert.equal(free.code, 0, free.text);
  await Deno.writeTextFile(`${scene.host.root}/etc/fleetctl/prices.yaml`, "models: 3\n");
  assert.match((await hostTurn(scene)).text, /Cannot use prices .*models: is the number 3/);
  await Deno.remove(`${scene.host.root}/etc/fleetctl/prices.yaml`);
  await setCeiling(scene, "");
}

Deno.test("one command of an agent stops neither the host nor the agent", async (t) => {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target", enforces: "controllers" });
  const scene = new PackagedHost(host);
  const step = hostSteps(t, [host]);
  try {
    await step("install the package, an agent and an MCP", async () => {
      await installPackage(host, out);
      await setUp(scene);
    });
    await step("the defaults leave the host its share", () => checkDefaults(scene));
    await step("new limits apply without a restart", () => checkNewLimits(scene));
    await step("a command that uses all memory is killed alone", () => checkMemory(scene));
    await step("a program that forks endlessly leaves the host usable", () => checkTasks(scene));
    await step(
      "a ceiling pauses the agent until an operator allows more",
      () => checkCeiling(scene),
    );
    await step("the owner's card at a ceiling lets the turn go on", () => checkOwnerCard(scene));
    await step("the ceiling of the host pauses all agents", () => checkHostCeiling(scene));
    await step("a ceiling in dollars follows the host's prices", () => checkPrices(scene));
    await step("removing an agent removes its limits", async () => {
      await scene.must("fleetctl", "agents", "remove", "ada", "--yes");
      const left = await scene.must("find", "/etc/systemd/system", "-path", "*ada*");
      assert.equal(left.split("\n").filter((path) => path.endsWith(".conf")).join("\n"), "");
    });
  } finally {
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
});
