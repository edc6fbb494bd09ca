/**
 * `kill -9` of every verb that writes markers, defaults, the ledger or the secret store, at random
 * moments, as the program that people run: the old or the new state, never a torn one, and nothing
 * that was acknowledged is lost. One round for each verb; FLEETCTL_ROUNDS says otherwise.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readLedger } from "core/ledger/ledger.ts";
import { readHistory } from "core/ledger/history.ts";
import { commitChange } from "core/ledger/repository.ts";
import type { KeyName } from "core/names.ts";
import { openHost } from "core/os/host.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { Host } from "core/ports.ts";
import { readHostKey } from "core/secrets/host_key.ts";
import { openText } from "core/secrets/store.ts";
import { parseKeyRing } from "core/signed_value.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { TREE } from "tests/support/module_graph.ts";
import { plainEnv } from "tests/support/up_process.ts";

const BROWSER = `name: browser
summary: Stands in for the browser, so that nothing is installed
source:
  builtin: agent-message
auth: none
scope: per_user
`;

interface Bench {
  readonly root: string;
  readonly host: Host;
  readonly paths: Paths;
}

/** What a reader of the host sees. */
interface State {
  readonly markers: string;
  readonly defaults: string;
  readonly agents: unknown;
  /** Undefined when this host cannot open the store. */
  readonly secrets: Readonly<Record<string, string>> | undefined;
  readonly readers: number | undefined;
}

interface Verb {
  readonly words: (round: number) => readonly string[] | Promise<readonly string[]>;
  readonly stdin?: () => string;
  /** Brings the host to where the verb has something to do. */
  readonly before?: (bench: Bench) => Promise<void>;
  /** Whether `now` is what the verb makes of `old`. */
  readonly isNew: (old: State, now: State, round: number) => boolean;
}

/** Compares two states but for the parts that a verb changes. */
function isSameBut(old: State, now: State, ...changed: readonly (keyof State)[]): boolean {
  return (Object.keys(old) as (keyof State)[]).every((part) =>
    changed.includes(part) || JSON.stringify(old[part]) === JSON.stringify(now[part])
  );
}

/** Whether exactly the named secrets differ. */
function areChanged(old: State, now: State, keys: readonly string[]): boolean {
  const [left, right] = [old.secrets ?? {}, now.secrets ?? {}];
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return isSameBut(old, now, "secrets") &&
    names.every((name) => (left[name] !== right[name]) === keys.includes(name));
}

function ringOf(state: State, key: string) {
  const ring = parseKeyRing(state.secrets?.[key] ?? "", key);
  assert(ring.ok, `${key} is no ring`);
  return ring.value;
}

let recoveryKey = "";

const VERBS: Readonly<Record<string, Verb>> = {
  "secret set": {
    words: (round) => ["secret", "set", `K_${round}`, "--value", `value ${round}`],
    isNew: (old, now, round) =>
      areChanged(old, now, [`K_${round}`]) && now.secrets?.[`K_${round}`] === `value ${round}`,
  },
  "secret set --agent": {
    words: () => ["secret", "set", "TOKEN", "--value", crypto.randomUUID(), "--agent", "ada"],
    isNew: (old, now) => areChanged(old, now, ["ada TOKEN"]),
  },
  "secret unset": {
    words: () => ["secret", "unset", "GONE"],
    before: async (bench) => void await finish(bench, ["secret", "set", "GONE", "--value", "x"]),
    isNew: (old, now) => areChanged(old, now, ["GONE"]) && now.secrets?.GONE === undefined,
  },
  "secret rotate hmac": {
    words: () => ["secret", "rotate", "hmac"],
    isNew: (old, now) =>
      areChanged(old, now, ["WEBVIEW_HMAC_KEY"]) &&
      ringOf(now, "WEBVIEW_HMAC_KEY")[1]?.key === ringOf(old, "WEBVIEW_HMAC_KEY")[0].key,
  },
  "secret rotate assertion": {
    words: () => ["secret", "rotate", "assertion", "--revoke"],
    isNew: (old, now) =>
      areChanged(old, now, ["WEBVIEW_ASSERTION_KEY"]) &&
      ringOf(now, "WEBVIEW_ASSERTION_KEY").length === 1,
  },
  "secret rotate host-op": {
    words: () => ["secret", "rotate", "host-op"],
    isNew: (old, now) =>
      areChanged(old, now, ["FLEETCTL_HOST_OP_SECRET", "FLEETCTL_HOST_OP_GRANT_SECRET"]),
  },
  "secret rotate recipient": {
    words: () => ["secret", "rotate", "recipient"],
    isNew: (old, now) => isSameBut(old, now),
  },
  "secret recovery add": {
    words: () => ["secret", "recovery", "add"],
    isNew: (old, now) => isSameBut(old, now, "readers") && now.readers === (old.readers ?? 0) + 1,
  },
  "secret recover": {
    words: () => ["secret", "recover", "--key", "-"],
    stdin: () => recoveryKey,
    before: async ({ paths }) => await Deno.remove(paths.hostKey),
    isNew: (old, now) => isSameBut(old, now, "secrets", "readers") && now.secrets !== undefined,
  },
  "host set": {
    words: (round) => ["host", "set", "teams_gateway", `host-${round}`],
    isNew: (old, now, round) =>
      isSameBut(old, now, "markers") && now.markers === `teams_gateway: host-${round}\n`,
  },
  "defaults add": {
    words: () => ["defaults", "add", "tools", "agent-message"],
    before: async (bench) =>
      void await finish(bench, ["defaults", "remove", "tools", "agent-message"]),
    isNew: (old, now) => isSameBut(old, now, "defaults") && /- agent-message\n/.test(now.defaults),
  },
  "ledger revert": {
    words: () => ["ledger", "revert", lastChange],
    before: async (bench) => {
      await finish(bench, ["agents", "set", "ada", "--model", `m-${crypto.randomUUID()}`]);
      const history = await readHistory(bench.host, bench.paths, { limit: 1 });
      assert(history.ok);
      lastChange = history.value[0]?.commit ?? "";
    },
    isNew: (old, now) =>
      isSameBut(old, now, "agents") && !JSON.stringify(now.agents).includes("m-"),
  },
};
let lastChange = "";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? Object.keys(VERBS).length);

function start({ root }: Bench, words: readonly string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-check", "--cached-only", "cli/main.ts", ...words],
    cwd: TREE,
    clearEnv: true,
    env: plainEnv({ FLEETCTL_ROOT: root }),
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Runs a verb, ended after `killAfterMs` when that comes first. */
async function run(
  bench: Bench,
  words: readonly string[],
  options: { readonly stdin?: string | undefined; readonly killAfterMs?: number } = {},
): Promise<{ readonly code: number | undefined; readonly out: string }> {
  const child = start(bench, words);
  const timer = options.killAfterMs === undefined
    ? undefined
    : setTimeout(() => child.kill("SIGKILL"), options.killAfterMs);
  const writer = child.stdin.getWriter();
  // A killed child does not read its input.
  await writer.write(new TextEncoder().encode(options.stdin ?? "")).catch(() => {});
  await writer.close().catch(() => {});
  const { code, signal, stdout, stderr } = await child.output();
  clearTimeout(timer);
  const out = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  return { code: signal === null ? code : undefined, out };
}

async function finish(bench: Bench, words: readonly string[]): Promise<string> {
  const ended = await run(bench, words);
  assert.equal(ended.code, 0, `${words.join(" ")}\n${ended.out}`);
  return ended.out;
}

async function readState({ host, paths }: Bench): Promise<State> {
  const ledger = await readLedger(host.files, paths);
  assert(ledger.ok && ledger.value.faults.length === 0, JSON.stringify(ledger));
  const key = await readHostKey(host, paths);
  assert(key.ok, "the host key is torn");
  const sealed = await host.files.readText(paths.secretsFile) ?? "";
  const store = key.value === undefined ? undefined : await openText(paths, sealed, key.value);
  const shards = store?.ok ? store.value.shards : undefined;
  return {
    markers: await host.files.readText(paths.hostFile) ?? "",
    defaults: await host.files.readText(paths.defaultsFile) ?? "",
    agents: [...ledger.value.agents.values()],
    secrets: shards === undefined ? undefined : Object.fromEntries([
      ...shards.shared,
      ...[...shards.agents].flatMap(([agent, shard]) =>
        [...shard].map(([name, value]) => [`${agent} ${name}` as KeyName, value] as const)
      ),
    ]),
    readers: store?.ok ? store.value.recipients.length : undefined,
  };
}

/** What the next verb does first, and what git says of the result. */
async function heal({ host, paths }: Bench): Promise<void> {
  const healed = await commitChange(host, paths, {
    verb: "test",
    caller: "root",
    summary: "nothing",
    edits: [],
  });
  assert(healed.ok && !healed.value.hasRecovered, JSON.stringify(healed));
  const git = async (...args: readonly string[]) =>
    await new Deno.Command("git", { args: ["-C", paths.repo, ...args] }).output();
  const status = await git("status", "--porcelain");
  assert.equal(new TextDecoder().decode(status.stdout), "");
  assert((await git("fsck", "--strict")).success);
}

Deno.test(`kill -9 of a verb leaves the old or the new state, ${ROUNDS} times`, async () => {
  const root = await Deno.makeTempDir({ prefix: "store-kill-" });
  try {
    const paths = pathsUnder(root);
    const host = { ...openHost({ log: { program: "test" } }), log: recordingLog() };
    const bench = { root, host, paths };
    await Deno.mkdir(`${paths.overlayCatalog}/browser`, { recursive: true });
    await Deno.writeTextFile(`${paths.overlayCatalog}/browser/mcp.yaml`, BROWSER);
    await finish(bench, ["agents", "add", "ada", "--channel", "webview"]);
    recoveryKey = await finish(bench, ["secret", "recovery", "add"]);
    const names = Object.keys(VERBS);
    const tookMs = new Map<string, number>();
    const seen = { killed: 0, acknowledged: 0, changed: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      const name = names[round % names.length] ?? "";
      const verb = VERBS[name] as Verb;
      await verb.before?.(bench);
      const old = await readState(bench);
      // The first run of a verb says how long it takes; later ones are cut somewhere within.
      const whole = tookMs.get(name) ?? 600;
      const begun = performance.now();
      const ended = await run(bench, await verb.words(round), {
        stdin: verb.stdin?.(),
        killAfterMs: whole * (0.2 + 0.9 * Math.random()),
      });
      if (ended.code !== undefined) tookMs.set(name, performance.now() - begun);
      await heal(bench);
      const now = await readState(bench);
      const isNew = verb.isNew(old, now, round);
      const told = `round ${round}, ${name}, code ${ended.code}\n${ended.out}`;
      assert(isNew || isSameBut(old, now), told);
      if (ended.code === undefined) seen.killed++;
      else assert(ended.code === 0 && isNew, told);
      if (ended.code === 0) seen.acknowledged++;
      if (isNew) seen.changed++;
      // A host whose key is gone is recovered in any case.
      if (now.secrets === undefined) {
        const again = await run(bench, await verb.words(round), { stdin: recoveryKey });
        assert.equal(again.code, 0, again.out);
      }
    }
    console.log(`of ${ROUNDS}: ${JSON.stringify(seen)}`);
    assert(seen.killed > 0, "no verb was killed");
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
