/**
 * A catalog host with an index of Python packages on loopback.
 *
 * @module
 */

import { readCatalog } from "core/catalog/catalog.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import type { McpName } from "core/names.ts";
import { denoFiles } from "core/os/files.ts";
import { tool } from "tests/fakes/mcp_package.ts";
import { type FakeWheel, type PythonIndex, pythonIndex } from "tests/fakes/python_index.ts";
import { type PythonServer, pythonServer, RPC_WHEEL } from "tests/fakes/python_server.ts";
import { type CatalogHost, catalogHost } from "tests/support/catalog_host.ts";

/** A tool that declares itself read-only. */
export const READ = tool("read_page", "Reads a page", { annotations: { readOnlyHint: true } });

/** Creates one version of the server of these tests. */
export function wiki(version: string, more: Partial<PythonServer> = {}): FakeWheel {
  return pythonServer({ name: "acme-wiki", version, tools: [READ], ...more });
}

/** The host and its index. */
export interface PythonCatalog extends AsyncDisposable {
  readonly host: CatalogHost;
  readonly index: PythonIndex;
}

/** Opens both. The index has these packages and the one that servers depend on. */
export async function pythonCatalog(packages: readonly FakeWheel[]): Promise<PythonCatalog> {
  const host = await catalogHost([]);
  const index = await pythonIndex([RPC_WHEEL, ...packages]);
  host.env = { ...host.env, PIP_INDEX_URL: index.url };
  return {
    host,
    index,
    async [Symbol.asyncDispose]() {
      await index[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
    },
  };
}

/** Returns an entry; the whole catalog must be valid. */
export async function entryOf(host: CatalogHost, mcp: string): Promise<Manifest | undefined> {
  const catalog = await readCatalog({ files: denoFiles() }, host.paths);
  if (!catalog.ok) throw new Error(catalog.error.message);
  const [fault] = catalog.value.faults;
  if (fault !== undefined) throw new Error(JSON.stringify(fault.refusal));
  return catalog.value.entries.get(mcp as McpName);
}
