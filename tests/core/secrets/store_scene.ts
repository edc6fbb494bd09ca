/**
 * A secret store with real age, real git, real files and real processes, one for each test.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openHost } from "core/os/host.ts";
import { initRepo } from "core/ledger/repository.ts";
import type { AgentName, HostName, KeyName } from "core/names.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { Host } from "core/ports/host.ts";
import { initSecrets } from "core/secrets/init.ts";
import { openSecrets, type SecretStore } from "core/secrets/store.ts";
import type { StoreOrder } from "tests/core/secrets/store_child.ts";
import { recordingLog } from "tests/fakes/log.ts";

const CHILD = new URL("./store_child.ts", import.meta.url).pathname;
export const ADA = "ada" as AgentName;
export const key = (name: string) => name as KeyName;
export const AUTHOR = { verb: "secret set", caller: "root" };
export const INIT = { verb: "up", caller: "root", hostname: "atlas" as HostName };

interface Bench {
  readonly host: Host & { readonly log: ReturnType<typeof recordingLog> };
  readonly paths: Paths;
  readonly store: SecretStore;
  git(...args: string[]): Promise<string>;
}

async function withStore(test: (bench: Bench) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "secrets-" });
  try {
    const host = { ...openHost({ log: { program: "test" } }), log: recordingLog() };
    const paths = pathsUnder(root);
    assert((await initRepo(host, paths)).ok);
    const store = await initSecrets(host, paths, INIT);
    assert(store.ok, store.ok ? "" : JSON.stringify(store.error));
    const git = async (...args: string[]) => {
      const ended = await new Deno.Command("git", { args: ["-C", paths.repo, ...args] }).output();
      assert(ended.success, new TextDecoder().decode(ended.stderr));
      return new TextDecoder().decode(ended.stdout).trim();
    };
    await test({ host, paths, store: store.value, git });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** Defines a test with its own store. It must leave no op and no resource open. */
export function storeTest(name: string, run: (bench: Bench) => Promise<void>): void {
  Deno.test({ name, fn: () => withStore(run), sanitizeOps: true, sanitizeResources: true });
}

export async function reopened({ host, paths }: Bench): Promise<SecretStore> {
  const store = await openSecrets(host, paths);
  assert(store.ok, store.ok ? "" : JSON.stringify(store.error));
  return store.value;
}

export function startChild(order: StoreOrder) {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-check", "--cached-only", CHILD, JSON.stringify(order)],
    stdout: "piped",
    stderr: "inherit",
  });
}
