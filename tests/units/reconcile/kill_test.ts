/**
 * `kill -9` of the command line at random moments, on a real root with real files and real git. The
 * next `apply` converges, and nothing acknowledged is lost. 10 rounds by default; FLEETCTL_ROUNDS
 * overrides it (docs/benchmarks.md has the outcome of 200).
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseShard } from "core/ledger/shard.ts";
import { pathsUnder } from "core/paths.ts";
import { fileServices } from "tests/support/file_services.ts";
import { runFleetctl } from "tests/support/script.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "10");
/**
 * A child is killed at a random moment after its first verb has begun, within this many times the
 * duration of one verb on this machine. So some verbs end before the kill, however busy it is.
 */
const KILL_VERBS_MAX = 6;
const KILL_MS_MAX = 900;
const AGENTS = ["ada", "bea"];
const SHARED = new Set(["team"]);

const ENTRY = (name: string, more: string) =>
  `name: ${name}\nsummary: Stands in\nsource: {builtin: agent-message}\n${more}`;
const CATALOG: Readonly<Record<string, string>> = {
  browser: ENTRY("browser", "auth: none\nscope: per_user\n"),
  team: ENTRY("team", "auth: none\nscope: shared\n"),
  paid: ENTRY(
    "paid",
    "auth: env\nrequired_env: [PAID_TOKEN]\nuser_env: [PAID_TOKEN]\nscope: per_user\n",
  ),
};

/** Acknowledged changes: `ada team` → wired or not, `ada PAID_TOKEN` → its value. */
type Promised = Map<string, string>;

async function setUp(root: string): Promise<void> {
  for (const [name, text] of Object.entries(CATALOG)) {
    const folder = `${root}/var/lib/fleetctl/repo/catalog/${name}`;
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(`${folder}/mcp.yaml`, text);
  }
  for (const agent of AGENTS) {
    await verb(
      root,
      "agents",
      "add",
      agent,
      "--channel",
      "webview",
      "--user-email",
      `${agent}@x.org`,
    );
  }
}

async function verb(root: string, ...words: readonly string[]): Promise<string> {
  const ended = await runFleetctl(words, { root, ports: { services: fileServices } });
  assert.equal(ended.code, 0, `${words.join(" ")}\n${ended.stdout}${ended.stderr}`);
  return ended.stdout;
}

/**
 * Runs the child and kills it after `killMs`; returns the acknowledged changes and the verb in
 * progress.
 */
async function runAndKill(root: string, seed: number, killMs: number) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-check", "--cached-only"]
      .concat(["tests/units/reconcile/kill_child.ts", root, String(seed)]),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let text = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    text += decoder.decode(chunk, { stream: true });
    // Before the first verb begins there is nothing to interrupt.
    if (text.includes("begin")) timer ??= setTimeout(() => child.kill("SIGKILL"), killMs);
  }
  clearTimeout(timer);
  const output = await new Response(child.stderr).text();
  const { signal } = await child.status;
  assert.equal(signal, "SIGKILL", output);
  const lines = text.split("\n").slice(0, -1);
  return {
    done: lines.flatMap((line) => /^done 0 (.+)$/.exec(line)?.[1] ?? []),
    underWay: /^begin (.+)$/.exec(lines.at(-1) ?? "")?.[1],
    // Removing what is not wired is refused; everything else must succeed.
    failed: lines.filter((line) => /^done [^0] (?!mcp remove )/.test(line)),
  };
}

function keep(promised: Promised, words: string): void {
  const [group, what, third = "", fourth = ""] = words.split(" ");
  if (group === "mcp") promised.set(`${fourth} ${third}`, what === "add" ? "wired" : "absent");
  if (group === "secret") {
    promised.set(`${words.split(" ").at(-1)} PAID_TOKEN`, words.split(" ")[4] ?? "");
  }
}

/** Forgets what the interrupted verb concerns: its state may be the old or the new one. */
function forget(promised: Promised, words: string): void {
  const changed: Promised = new Map();
  keep(changed, words);
  for (const key of changed.keys()) promised.delete(key);
}

/** Checks that everything on the host about an agent and an MCP agrees. */
async function checkHost(root: string, promised: Promised): Promise<void> {
  const paths = pathsUnder(root);
  const active = (await fileServices(paths).status([
    ...AGENTS.flatMap((agent) =>
      ["agent-message", "paid"].map((mcp) => `mcp-${mcp}-${agent}.socket`)
    ),
    "mcp-team.socket",
  ])).filter((status) => status.active === "active").map(({ unit }) => unit);
  const wiredTeam: string[] = [];
  for (const agent of AGENTS) {
    const shard = parseShard(await Deno.readTextFile(paths.agentShard(agent)), "shard");
    assert.ok(shard.ok, "the shard is whole");
    const config = JSON.parse(await Deno.readTextFile(paths.runtimeB(agent)));
    const env = await Deno.readTextFile(paths.agentEnv(agent));
    for (const mcp of ["agent-message", "team", "paid"]) {
      const isWired = (shard.value.tools.add as readonly string[]).includes(mcp);
      const at = `${agent} ${mcp}`;
      if (promised.has(at)) assert.equal(isWired ? "wired" : "absent", promised.get(at), at);
      assert.equal(mcp in config.mcpServers, isWired, `client config: ${at}`);
      if (SHARED.has(mcp)) wiredTeam.push(...isWired ? [agent] : []);
      else assert.equal(active.includes(`mcp-${mcp}-${agent}.socket`), isWired, `unit: ${at}`);
    }
    const value = promised.get(`${agent} PAID_TOKEN`);
    if (value !== undefined) assert.match(env, new RegExp(`^PAID_TOKEN="?${value}"?$`, "m"));
  }
  assert.equal(active.includes("mcp-team.socket"), wiredTeam.length > 0, "shared socket");
  const left = [...Deno.readDirSync(paths.units)].map(({ name }) => name)
    .filter((name) => !/^(fleetctl-|mcp-)[\w@.-]+\.(service|socket)$|\.wants$/.test(name))
    // A killed write may leave its temp file, which is not a unit (`core/os/files.ts`).
    .filter((name) => !/^\.[0-9a-f]+\.fleetctl-tmp$/.test(name));
  assert.deepEqual(left, [], "nothing half-written is left among the units");
}

Deno.test({
  name: "a verb that is killed at any moment is finished or undone by the next apply",
  sanitizeOps: true,
  sanitizeResources: true,
  fn: async () => {
    const root = await Deno.makeTempDir({ prefix: "fctlk" });
    const promised: Promised = new Map();
    let acknowledged = 0;
    try {
      await setUp(root);
      const began = performance.now();
      await verb(root, "mcp", "add", "team", "ada");
      await verb(root, "mcp", "remove", "team", "ada");
      const verbMs = (performance.now() - began) / 2;
      const killMsMax = Math.max(KILL_MS_MAX, KILL_VERBS_MAX * verbMs);
      for (let round = 0; round < ROUNDS; round++) {
        const killMs = (round * 137 + 11) % killMsMax;
        const ran = await runAndKill(root, round + 1, killMs);
        assert.deepEqual(ran.failed, [], `round ${round}`);
        for (const words of ran.done) keep(promised, words);
        acknowledged += ran.done.length;
        if (ran.underWay !== undefined) forget(promised, ran.underWay);
        await verb(root, "apply");
        assert.match(await verb(root, "apply"), /^unchanged/, `round ${round}`);
        await checkHost(root, promised);
      }
      assert.ok(acknowledged > 0, "some verbs ended before they were killed");
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});
