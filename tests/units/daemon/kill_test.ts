/**
 * Writing verbs killed (`kill -9`) at a random moment. The ledger has the old state or the new one,
 * never a torn one, and acknowledged changes survive. The next run finishes what was begun. The
 * audit log stays readable and contains every verb that ended. 8 rounds by default; FLEETCTL_ROUNDS
 * overrides it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { parseShard } from "core/ledger/shard.ts";
import { pathsUnder } from "core/paths.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "8");
const TREE = new URL("../../../", import.meta.url).pathname;
/** A kill comes at a random moment within the duration of a whole verb, times this factor. */
const KILL_SPAN = 1.2;

const BROWSER = `name: browser
summary: Stands in, so that nothing is installed
source:
  builtin: agent-message
auth: none
scope: per_user
`;

/** One writing verb, and a check whether it took effect. */
interface Write {
  readonly argv: readonly string[];
  /** Returns whether the host has the new state. */
  readonly isDone: (host: Host) => Promise<boolean>;
}

class Host {
  readonly paths;
  /** Duration of the last verb that was not killed, in milliseconds. */
  verbMs = 1_000;
  constructor(readonly root: string) {
    this.paths = pathsUnder(root);
  }

  start(argv: readonly string[]): Deno.ChildProcess {
    return new Deno.Command(Deno.execPath(), {
      args: ["run", "-q", "-A", "--no-check", "--cached-only", "cli/main.ts", ...argv],
      cwd: TREE,
      env: { FLEETCTL_ROOT: this.root, PATH: "/usr/bin:/bin", DENO_DIR: denoDir() },
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  }

  async run(...argv: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
    const { code, stdout, stderr } = await this.start(argv).output();
    return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
  }

  async must(...argv: readonly string[]): Promise<string> {
    const { code, said } = await this.run(...argv);
    assert.equal(code, 0, `${argv.join(" ")}\n${said}`);
    return said;
  }

  /** Parses the shard on disk, which fails when it is torn. */
  async shard(agent: string) {
    const file = this.paths.agentShard(agent);
    const text = await Deno.readTextFile(file).catch(() => undefined);
    if (text === undefined) return undefined;
    const record = parseShard(text, file);
    assert.ok(record.ok, `torn: ${text}`);
    return record.value;
  }
}

function denoDir(): string {
  const dir = Deno.env.get("DENO_DIR");
  return dir ?? `${Deno.env.get("HOME")}/.cache/deno`;
}

/**
 * Returns the six verbs of six successive rounds, in order. Each leads to a different state than
 * the one before it.
 */
function writesOf(round: number): readonly Write[] {
  const model = `model-${round}`;
  const key = `KEY_${round}`;
  return [
    {
      argv: ["agents", "add", "bea", "--channel", "webview", "--user-email", "bea@example.org"],
      isDone: async (host) => await host.shard("bea") !== undefined,
    },
    {
      argv: ["agents", "set", "bea", "--model", model],
      isDone: async (host) => (await host.shard("bea"))?.model === model,
    },
    {
      argv: ["secret", "set", key, "--value", model, "--agent", "bea"],
      isDone: async (host) =>
        (await host.run("secret", "get", key, "--agent", "bea")).said === `${model}\n`,
    },
    {
      argv: ["agents", "stop", "bea"],
      isDone: async (host) => (await host.shard("bea"))?.stopped !== undefined,
    },
    {
      argv: ["agents", "start", "bea"],
      isDone: async (host) => (await host.shard("bea"))?.stopped === undefined,
    },
    {
      argv: ["agents", "remove", "bea", "--yes"],
      isDone: async (host) => await host.shard("bea") === undefined,
    },
  ];
}

/** Starts the verb and kills it after `ms`; returns whether it had reported success. */
async function startAndKill(host: Host, argv: readonly string[], ms: number): Promise<boolean> {
  const child = host.start(argv);
  const timer = setTimeout(() => {
    try {
      child.kill("SIGKILL");
    } catch {
      // The verb ended before the kill.
    }
  }, ms);
  const { success } = await child.output();
  clearTimeout(timer);
  return success;
}

async function checkRound(host: Host, write: Write): Promise<boolean> {
  const isDone = await startAndKill(host, write.argv, Math.random() * KILL_SPAN * host.verbMs);
  const line = write.argv.join(" ");
  if (isDone) assert.ok(await write.isDone(host), `acknowledged and lost: ${line}`);
  // Whatever the kill has left, the same verb now succeeds, or reports that it has nothing to do.
  const began = performance.now();
  const again = await host.run(...write.argv);
  host.verbMs = performance.now() - began;
  const isThere = ["agent-exists", "in the ledger", "Cannot find agent"].some((words) =>
    again.said.includes(words)
  );
  assert.ok(again.code === 0 || isThere, `${line}\n${again.said}`);
  assert.ok(await write.isDone(host), `not finished: ${line}\n${again.said}`);
  return isDone;
}

function auditRows(host: Host) {
  using database = new DatabaseSync(`${host.paths.role("daemon")}/audit.sqlite`);
  const [check] = database.prepare("PRAGMA integrity_check").all();
  assert.equal(check?.integrity_check, "ok");
  return database.prepare("SELECT verb, allowed, exit FROM audit ORDER BY id").all();
}

Deno.test(`writing verbs survive kill -9 in ${ROUNDS} rounds`, async () => {
  const root = await Deno.makeTempDir({ prefix: "fctl" });
  const host = new Host(root);
  let acknowledged = 0;
  let killed = 0;
  try {
    const overlay = `${host.paths.overlayCatalog}/browser`;
    await Deno.mkdir(overlay, { recursive: true });
    await Deno.writeTextFile(`${overlay}/mcp.yaml`, BROWSER);
    await host.must("agents", "add", "ada", "--channel", "webview");
    for (let round = 0, step = 0; round < ROUNDS; round++, step = (step + 1) % 6) {
      const write = writesOf(Math.floor(round / 6))[step];
      assert.ok(write !== undefined);
      if (await checkRound(host, write)) acknowledged++;
      else killed++;
      assert.notEqual(await host.shard("ada"), undefined, "others are not touched");
    }
    await host.must("apply");
    assert.match(await host.must("apply"), /^unchanged/);
    const fsck = await new Deno.Command("git", {
      args: ["-C", host.paths.repo, "fsck", "--strict", "--no-dangling"],
    }).output();
    assert.ok(fsck.success, new TextDecoder().decode(fsck.stderr));
    const ended = auditRows(host).filter(({ exit }) => exit === "0").length;
    assert.ok(ended >= acknowledged, `${ended} rows for ${acknowledged} acknowledged verbs`);
    console.log(`  ${killed} killed, ${acknowledged} acknowledged before the kill`);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
