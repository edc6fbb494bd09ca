/**
 * A host with one agent under a separate root. Tests change it through the real program and read
 * its markers, defaults, ledger and secrets.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readLedger } from "core/ledger/ledger.ts";
import { commitChange } from "core/ledger/repository.ts";
import type { KeyName } from "core/names.ts";
import { openHost } from "core/os/host.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { Host } from "core/ports/host.ts";
import { readHostKey } from "core/secrets/host_key.ts";
import { openText } from "core/secrets/store.ts";
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

/** The host. */
export interface Bench {
  readonly root: string;
  readonly host: Host;
  readonly paths: Paths;
}

/** The state of the host as a reader sees it. */
export interface State {
  readonly markers: string;
  readonly defaults: string;
  readonly agents: unknown;
  /** Undefined when this host cannot open the store. */
  readonly secrets: Readonly<Record<string, string>> | undefined;
  readonly readers: number | undefined;
}

/** Creates a host with the agent ada. */
export async function openBench(root: string): Promise<Bench> {
  const paths = pathsUnder(root);
  const host = { ...openHost({ log: { program: "test" } }), log: recordingLog() };
  const bench = { root, host, paths };
  await Deno.mkdir(`${paths.overlayCatalog}/browser`, { recursive: true });
  await Deno.writeTextFile(`${paths.overlayCatalog}/browser/mcp.yaml`, BROWSER);
  await finish(bench, ["agents", "add", "ada", "--channel", "webview"]);
  return bench;
}

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

/** Runs a verb; kills it after `killAfterMs` if it still runs. */
export async function runAt(
  bench: Bench,
  words: readonly string[],
  options: {
    readonly stdin?: string | Uint8Array<ArrayBuffer> | undefined;
    readonly killAfterMs?: number;
  } = {},
): Promise<{ readonly code: number | undefined; readonly out: string }> {
  const child = start(bench, words);
  const timer = options.killAfterMs === undefined
    ? undefined
    : setTimeout(() => child.kill("SIGKILL"), options.killAfterMs);
  const writer = child.stdin.getWriter();
  // A killed child does not read its input.
  const { stdin = "" } = options;
  const input = typeof stdin === "string" ? new TextEncoder().encode(stdin) : stdin;
  await writer.write(input).catch(() => {});
  await writer.close().catch(() => {});
  const { code, signal, stdout, stderr } = await child.output();
  clearTimeout(timer);
  const out = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  return { code: signal === null ? code : undefined, out };
}

/** Runs a verb that must succeed, and returns its output. */
export async function finish(bench: Bench, words: readonly string[]): Promise<string> {
  const ended = await runAt(bench, words);
  assert.equal(ended.code, 0, `${words.join(" ")}\n${ended.out}`);
  return ended.out;
}

/** Reads the whole state; an unreadable shard or key fails the test. */
export async function readState({ host, paths }: Bench): Promise<State> {
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

/** Runs the recovery that the next verb does first, then checks the repository with git. */
export async function heal({ host, paths }: Bench): Promise<void> {
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
