/**
 * Verbs on booted hosts of hundreds of agents. Measures wall time, and processor time of the verb,
 * of the daemon with its children, of PID 1 and of the message bus. The agents are stopped, so the
 * fleet itself adds nothing. Needs root and the right to boot hosts. `./dev bench hosts`, or
 * `FLEETCTL_AGENTS=100,300 ./dev bench hosts` for other sizes.
 *
 * @module
 */

import assert from "node:assert/strict";
import { quantile } from "tests/bench/measure.ts";
import { type BootedHost, bootHost } from "tests/support/booted_host.ts";
import { unmet } from "tests/support/machine.ts";
import { buildPackage } from "tests/support/built_package.ts";
import { DAEMON, installPackage, ROLES } from "tests/support/packaged_host.ts";

const SIZES = "300,1000";
const ROUNDS = 3;
const VERB_MS_MAX = 1_800_000;
const REPO = "/var/lib/fleetctl/repo";
const FIRST_UID = 20_000;

/** Two builtin servers, so that no package is installed: one is a default, the other is added. */
const SERVERS = ["browser", "extra"] as const;

/** Runs a verb, and prints the resource use of all processes before and after it. */
const MEASURE = `
look() {
  date +%s%N
  cat /proc/$$/stat /proc/1/stat "/proc/$daemon/stat" "/proc/$bus/stat"
}
daemon=$1 bus=$2
shift 2
look
"$@" > /dev/null 2> /run/bench.err
code=$?
look
[ $code = 0 ] || { cat /run/bench.err >&2; exit $code; }
`;

/** Wall and processor times in seconds. */
interface Cost {
  readonly own: number;
  readonly manager: number;
  readonly bus: number;
  readonly wall: number;
}

/** Boots a host for each size, measures, prints. */
export async function benchHosts(): Promise<void> {
  const lacks = await unmet("root") ?? await unmet("booted-hosts");
  if (lacks !== undefined) {
    console.log(`not measured: ${lacks}`);
    return;
  }
  const out = await buildPackage();
  console.log("Booted host. Seconds: processor time, and wall time in the last column.\n");
  console.log("| agents | verb | runs | own | PID 1 | own + PID 1 | bus | wall |");
  console.log("|---|---|---|---|---|---|---|---|");
  try {
    for (const size of (Deno.env.get("FLEETCTL_AGENTS") ?? SIZES).split(",")) {
      await benchSize(out, Number(size));
    }
  } finally {
    await Deno.remove(out, { recursive: true });
  }
}

async function benchSize(out: string, agents: number): Promise<void> {
  const host = await bootHost({ target: "multi-user.target", name: `bench${agents}` });
  try {
    await installPackage(host, out);
    await Deno.writeTextFile(host.path("/etc/fleetctl/roles.yaml"), ROLES);
    await host.must("fleetctl", "apply");
    await makeAgents(host, agents);
    const print = async (name: string, rounds: number, ...words: readonly string[]) => {
      const costs: Cost[] = [];
      for (let round = 0; round < rounds; round++) {
        costs.push(await costOf(host, ["fleetctl", ...words]));
        if (name === "mcp add") await host.must("fleetctl", "mcp", "remove", "extra", "a1");
      }
      printRow(`${agents} | ${name}`, costs);
    };
    await print("apply, the first", 1, "apply");
    await print("status", ROUNDS, "status");
    await print("agents list", ROUNDS, "agents", "list");
    await print("apply, nothing to do", ROUNDS, "apply");
    await print("mcp add, nothing to do", ROUNDS, "mcp", "add", "browser", "a1");
    await print("mcp add", ROUNDS, "mcp", "add", "extra", "a1");
  } finally {
    await host.stop();
  }
}

/** Creates accounts, homes and shards like `agents add`, without running it for each agent. */
async function makeAgents(host: BootedHost, count: number): Promise<void> {
  for (const name of SERVERS) {
    await Deno.mkdir(host.path(`${REPO}/catalog/${name}`), { recursive: true });
    await Deno.writeTextFile(
      host.path(`${REPO}/catalog/${name}/mcp.yaml`),
      `name: ${name}\nsummary: Stands in\nsource: {builtin: agent-message}\nauth: none\n` +
        `scope: per_user\n`,
    );
  }
  const accounts = Array.from({ length: count }, (_, index) => ({
    name: `a${index + 1}`,
    uid: FIRST_UID + index,
  }));
  const append = async (file: string, line: (of: typeof accounts[number]) => string) =>
    await Deno.writeTextFile(host.path(file), accounts.map(line).join(""), { append: true });
  await append(
    "/etc/passwd",
    ({ name, uid }) => `${name}:x:${uid}:${uid}::/home/${name}:/bin/sh\n`,
  );
  await append("/etc/group", ({ name, uid }) => `${name}:x:${uid}:\n`);
  await append("/etc/shadow", ({ name }) => `${name}:!:20000::::::\n`);
  const members = accounts.map(({ name }) => name).join(",");
  await host.must(
    "sed",
    "-i",
    `s/^agents:\\([^:]*\\):\\([^:]*\\):.*$/agents:\\1:\\2:${members}/`,
    "/etc/group",
  );
  for (const { name, uid } of accounts) {
    await Deno.mkdir(host.path(`/home/${name}`), { mode: 0o700 });
    await Deno.chown(host.path(`/home/${name}`), uid, uid);
    await Deno.writeTextFile(
      host.path(`${REPO}/agents.d/${name}.yaml`),
      `name: ${name}\nchannel: webview\nuser_email: ${name}@example.org\nruntime: runtime-b\n` +
        `run_on: ${host.name}\ncreated: 2026-01-01T00:00:00.000Z\n` +
        `stopped: 2026-01-01T00:00:00.000Z\n`,
    );
  }
  await host.must("git", "-C", REPO, "add", "-A");
  const author = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"];
  await host.must("git", "-C", REPO, ...author, "commit", "-q", "-m", "agents");
}

async function costOf(host: BootedHost, words: readonly string[]): Promise<Cost> {
  const pidOf = async (unit: string) =>
    (await host.must("systemctl", "show", "--value", "-p", "MainPID", unit)).trim();
  const pids = [await pidOf(DAEMON), await pidOf("dbus.service")];
  const ended = await host.processes.run({
    command: "/bin/sh",
    args: ["-c", MEASURE, "sh", ...pids, ...words],
    env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root" },
    timeoutMs: VERB_MS_MAX,
  });
  assert.equal(ended.code, 0, `${words.join(" ")}\n${ended.stderr}`);
  const lines = ended.stdout.trim().split("\n");
  const [before, after] = [lines.slice(0, 5), lines.slice(5)].map(readLook);
  assert.ok(before !== undefined && after !== undefined);
  return {
    own: after.own - before.own,
    manager: after.manager - before.manager,
    bus: after.bus - before.bus,
    wall: after.wall - before.wall,
  };
}

/**
 * Parses one sample: nanoseconds, then a line of `/proc/<pid>/stat` of the shell, PID 1, the
 * daemon, the bus.
 */
function readLook(lines: readonly string[]): Cost {
  const [now = "", shell = "", manager = "", daemon = "", bus = ""] = lines;
  return {
    own: secondsOf(shell, true) + secondsOf(daemon, true),
    manager: secondsOf(manager, false),
    bus: secondsOf(bus, false),
    wall: Number(now) / 1e9,
  };
}

/**
 * Returns the processor time in a line of `proc_pid_stat(5)`, in seconds; a second has a hundred
 * ticks.
 */
function secondsOf(line: string, withChildren: boolean): number {
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ").map(Number);
  const ticks = fields.slice(11, withChildren ? 15 : 13);
  assert.ok(ticks.every(Number.isFinite) && ticks.length > 1, line);
  return ticks.reduce((sum, each) => sum + each, 0) / 100;
}

function printRow(name: string, costs: readonly Cost[]): void {
  const median = (of: (cost: Cost) => number) => quantile(costs.map(of), 0.5).toFixed(2);
  const cells = [
    String(costs.length),
    median((cost) => cost.own),
    median((cost) => cost.manager),
    median((cost) => cost.own + cost.manager),
    median((cost) => cost.bus),
    median((cost) => cost.wall),
  ];
  console.log(`| ${name} | ${cells.join(" | ")} |`);
}
