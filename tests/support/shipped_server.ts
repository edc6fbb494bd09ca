/**
 * A shipped MCP server, vendored and started as its unit would start it: the same command line and
 * fixed environment, dummy keys, an empty home. For tests, the catalog page and benches; nothing
 * uses the network.
 *
 * @module
 */

import { readCatalog } from "core/catalog/catalog.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { needsVendoring, vendorEntry } from "core/catalog/vendor.ts";
import { defined } from "core/defined.ts";
import type { AgentName, McpName } from "core/names.ts";
import { openHost } from "core/os/host.ts";
import { denoTrees } from "core/os/vendor.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { McpEndpoint } from "core/ports/mcp_client.ts";
import type { ProcessSpec } from "core/ports/processes.ts";
import { TREE } from "tests/support/module_graph.ts";
import { linkVendorCache } from "tests/support/prepare_vendor.ts";
import { renderLaunchers } from "units/render/launchers.ts";
import { expandPlaceholders, serverCommand } from "units/render/mcp/command.ts";

const AGENT = "ada" as AgentName;
/** Well-formed values for keys that a server checks before it starts. */
const DUMMY_KEYS: Readonly<Record<string, string>> = {
  DSN: "sqlite:///:memory:",
  CLOUDINARY_URL: "cloudinary://key:secret@cloud",
  GEMINI_API_KEY: "dummy-dummy-dummy",
  STRIPE_SECRET_KEY: "rk_test_dummy",
};

/**
 * Servers that forward every message, including the handshake, to the named host. They start with a
 * dummy key and report that on stderr. Without a real key and a network they list no tools.
 */
export const PASSES_ON: ReadonlyMap<string, { readonly host: string; readonly says: RegExp }> =
  new Map([["payments", { host: "mcp.stripe.com", says: /MCP Server running on stdio/ }]]);

/** Waits until a server reports that it runs, or ends; then stops it and returns its stderr. */
export async function startAlone(program: ProcessSpec, says: RegExp): Promise<string> {
  const child = new Deno.Command(program.command, {
    args: [...program.args],
    ...defined({ cwd: program.cwd }),
    env: { ...program.env },
    clearEnv: true,
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let output = "";
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    output += text;
    if (says.test(output)) break;
  }
  await child.stdin.close();
  child.kill("SIGKILL");
  await child.status;
  return output;
}

/** A root with vendored entries. */
export interface ShippedRoot extends AsyncDisposable {
  readonly root: string;
  readonly paths: Paths;
  manifest(mcp: string): Manifest;
  /** Vendors an entry from the prepared cache. */
  vendor(mcp: string): Promise<Manifest>;
  /** Returns the program of one connection, with a new home. */
  program(manifest: Manifest, more?: Readonly<Record<string, string>>): Promise<ProcessSpec>;
  at(manifest: Manifest): Promise<McpEndpoint>;
}

/** Opens a root that is removed when disposed. */
export async function shippedRoot(): Promise<ShippedRoot> {
  const root = await Deno.makeTempDir({ prefix: "fleetctl-shipped-" });
  const paths = pathsUnder(root);
  const host = openHost({ log: { program: "test", level: "error" } });
  await linkVendorCache(root);
  const catalog = await readCatalog(host, paths);
  if (!catalog.ok) throw new Error(catalog.error.message);
  const dir = TREE.replace(/\/$/, "");
  const shape = { kind: "tree", dir, denoDir: Deno.env.get("DENO_DIR") ?? "" } as const;
  for (const file of renderLaunchers(shape, paths)) {
    await Deno.mkdir(file.path.replace(/\/[^/]+$/, ""), { recursive: true });
    await Deno.writeTextFile(file.path, file.content, { mode: file.mode });
  }
  await Deno.symlink(Deno.execPath(), paths.deno);
  const manifest = (mcp: string) => {
    const found = catalog.value.entries.get(mcp as McpName);
    if (found === undefined) throw new Error(`no entry ${mcp}`);
    return found;
  };
  const self: ShippedRoot = {
    root,
    paths,
    manifest,
    async vendor(mcp) {
      const entry = manifest(mcp);
      const vendored = await vendorEntry(entry, { ...host, trees: denoTrees() }, paths, {
        deno: Deno.execPath(),
        env: Deno.env.toObject(),
      });
      if (!vendored.ok) {
        throw new Error([vendored.error.message, ...vendored.error.details].join("\n"));
      }
      return entry;
    },
    program: (entry, more = {}) => serverProgram(entry, paths, more),
    at: (entry) => serverProgram(entry, paths, {}),
    [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }),
  };
  return self;
}

async function serverProgram(
  manifest: Manifest,
  paths: Paths,
  more: Readonly<Record<string, string>>,
): Promise<ProcessSpec> {
  const site = { paths, agent: AGENT, workdir: `${paths.root}/workspace`, closed: [] };
  const home = paths.home(AGENT);
  await Deno.mkdir(home, { recursive: true });
  await Deno.mkdir(site.workdir, { recursive: true });
  const words = manifest.source.kind === "builtin"
    ? [
      Deno.execPath(),
      "run",
      "-q",
      "-A",
      "--no-check",
      "--cached-only",
      "-c",
      `${TREE}deno.json`,
      `${TREE}units/mcp/main.ts`,
      "serve",
      manifest.source.name,
    ]
    // The first two words check the tree before each start; the vendoring tests cover that.
    : serverCommand(manifest, site).slice(needsVendoring(manifest) ? 2 : 0);
  const [command = "", ...args] = words;
  const fixed = Object.entries(manifest.environment).map(([name, value]) => [
    name,
    expandPlaceholders(value, manifest, site),
  ]);
  for (const folder of manifest.permissions.write) {
    await Deno.mkdir(expandPlaceholders(folder, manifest, site), { recursive: true });
  }
  const keys = manifest.requiredEnv.map((key) => [key, DUMMY_KEYS[key] ?? "dummy"]);
  return {
    command,
    args,
    cwd: home,
    env: {
      PATH: "/usr/local/bin:/usr/bin:/bin",
      HOME: home,
      DENO_DIR: manifest.source.kind === "builtin"
        ? Deno.env.get("DENO_DIR") ?? `${TREE}.cache/deno`
        : `${home}/.cache/fleetctl/mcp-${manifest.name}`,
      DENO_NO_UPDATE_CHECK: "1",
      FLEETCTL_ROOT: paths.root,
      ...Object.fromEntries(fixed),
      ...Object.fromEntries(keys),
      ...more,
    },
  };
}
