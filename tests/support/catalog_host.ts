/**
 * A root with a ledger, a package registry on loopback and the catalog verbs, in this process.
 * Servers are really installed and started.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openHost } from "core/os/host.ts";
import { systemMcpClient } from "cli/os/mcp_client.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import { type FakePackage, type NpmRegistry, npmRegistry } from "tests/fakes/npm_registry.ts";
import { runFleetctl } from "tests/support/script.ts";
import type { VerbPorts } from "cli/verb_ports.ts";

/** Exit code and output of a verb. */
export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The host. */
export interface CatalogHost extends AsyncDisposable {
  readonly root: string;
  readonly paths: Paths;
  readonly registry: NpmRegistry;
  env: Record<string, string>;
  ports: Partial<VerbPorts>;
  run(...argv: readonly string[]): Promise<Ended>;
  /** Runs a verb with `--json`, which must succeed; returns the parsed output. */
  json(...argv: readonly string[]): Promise<Record<string, unknown>>;
}

/** Opens a host; with `ledger: false` it has no repository. */
export async function catalogHost(
  packages: readonly FakePackage[],
  options: { readonly ledger: boolean } = { ledger: true },
): Promise<CatalogHost> {
  const root = await Deno.makeTempDir({ prefix: "fctl-catalog-" });
  const registry = await npmRegistry(packages);
  const paths = pathsUnder(root);
  await Deno.mkdir(paths.lib, { recursive: true });
  await Deno.symlink(Deno.execPath(), paths.deno);
  const host = openHost({ log: { program: "test", level: "error" } });
  const self: CatalogHost = {
    root,
    paths,
    registry,
    env: { PATH: "/usr/bin:/bin", HOME: root, NPM_CONFIG_REGISTRY: registry.url },
    ports: { openMcpClient: async () => systemMcpClient(host) },
    run: (...argv) => runFleetctl(argv, { root, env: self.env, ports: self.ports }),
    async json(...argv) {
      const ended = await self.run(...argv, "--json");
      assert.equal(ended.code, 0, `${argv.join(" ")}\n${ended.stdout}\n${ended.stderr}`);
      return JSON.parse(ended.stdout) as Record<string, unknown>;
    },
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      await Deno.remove(root, { recursive: true });
    },
  };
  if (options.ledger) {
    // The agent's default MCP is not in this registry. The agent exists all the same, so remove
    // that MCP from it.
    await self.run(
      "agents",
      "add",
      "ada",
      "--channel",
      "webview",
      "--user-email",
      "ada@example.org",
    );
    const removed = await self.run("mcp", "remove", "browser", "ada");
    assert.equal(removed.code, 0, removed.stderr);
  }
  return self;
}
