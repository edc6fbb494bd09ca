/**
 * A ledger's repository for tests, with real git and real files.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openHost } from "core/os/host.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { initRepo } from "core/ledger/repository.ts";
import type { AgentName, Email } from "core/names.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { Host } from "core/ports/host.ts";
import { recordingLog } from "tests/fakes/log.ts";

/** An agent of these tests. */
export const ADA: AgentRecord = {
  name: "ada" as AgentName,
  channel: "webview",
  userEmail: "ada@example.org" as Email,
  runtime: "runtime-b",
  isAdmin: false,
  tools: { add: [], remove: [] },
  dialKeys: [],
};
/** The author of the changes. */
export const ROOT = { verb: "agents add", caller: "root" };

/** A repository in its own temporary folder. */
export interface Bench {
  readonly host: Host & { readonly log: ReturnType<typeof recordingLog> };
  readonly paths: Paths;
  /** Runs git directly, like a person at a shell. */
  git(...args: string[]): Promise<string>;
}

/** Runs `test` on a new repository. */
export async function withRepo(test: (bench: Bench) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "ledger-" });
  try {
    const host = { ...openHost({ log: { program: "test" } }), log: recordingLog() };
    const paths = pathsUnder(root);
    const made = await initRepo(host, paths);
    assert(made.ok, made.ok ? "" : JSON.stringify(made.error));
    const git = async (...args: string[]) => {
      const ended = await new Deno.Command("git", {
        args: ["-C", paths.repo, ...args],
        env: { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
      }).output();
      assert(ended.success, new TextDecoder().decode(ended.stderr));
      return new TextDecoder().decode(ended.stdout).trim();
    };
    await test({ host, paths, git });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** Defines a test with its own repository. It must leave no op and no resource open. */
export function repoTest(name: string, run: (bench: Bench) => Promise<void>): void {
  Deno.test({ name, fn: () => withRepo(run), sanitizeOps: true, sanitizeResources: true });
}

/** Asserts integrity: objects are complete, no temporary files remain, work tree and head agree. */
export async function assertSound({ paths, git }: Bench): Promise<void> {
  await git("fsck", "--strict");
  assert.equal(await git("status", "--porcelain"), "");
  for await (const entry of Deno.readDir(paths.agentsDir)) {
    assert(!entry.name.startsWith("."), `left over: ${entry.name}`);
  }
}
