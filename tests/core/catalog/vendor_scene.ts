/**
 * A root, a loopback registry that can fail in each relevant way, and a server to vendor.
 *
 * @module
 */

import assert from "node:assert/strict";
import { installConfig } from "core/catalog/install.ts";
import { hashText, lockedIntegrity, portableLock } from "core/catalog/lock.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { parseManifest } from "core/catalog/parse_manifest.ts";
import { treePath, vendorEntry } from "core/catalog/vendor.ts";
import { openHost } from "core/os/host.ts";
import { denoTrees } from "core/os/vendor.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { ProcessSpec } from "core/ports/processes.ts";
import { type FakePackage, type NpmRegistry, npmRegistry } from "tests/fakes/npm_registry.ts";

/** A test must leave no op and no resource open. */
export const CHECKS = { sanitizeOps: true, sanitizeResources: true };
/** The installer: Deno itself. */
export const DENO = Deno.execPath();

/** A package that the servers depend on. */
export const LEFT: FakePackage = {
  name: "left",
  version: "1.0.0",
  files: { "index.js": "// left 1\n" },
};
const PACKAGES: readonly FakePackage[] = [
  {
    name: "@acme/server",
    version: "1.0.0",
    dependencies: { left: "1.0.0" },
    scripts: { postinstall: "touch ../../../postinstall-ran; touch postinstall-ran" },
    files: {
      "main.js": "console.log(1);\n",
      "extra.txt": "one\n",
      "main.js.map": "{}",
      "main.d.ts": "export {};",
    },
  },
  {
    name: "@acme/server",
    version: "2.0.0",
    dependencies: { left: "1.0.0" },
    files: { "main.js": "console.log(2);\n" },
  },
  LEFT,
];

/** A root, a registry, and the processes that were started. */
export interface Bench extends AsyncDisposable {
  readonly root: string;
  readonly paths: Paths;
  readonly registry: NpmRegistry;
  readonly ports: Parameters<typeof vendorEntry>[1];
  readonly started: ProcessSpec[];
  env: Record<string, string>;
  manifest(version: string, change?: (text: string) => string): Promise<Manifest>;
  vendor(manifest: Manifest, deno?: string): ReturnType<typeof vendorEntry>;
}

/** Creates a root and a registry. */
export async function bench(): Promise<Bench> {
  const root = await Deno.makeTempDir();
  const registry = await npmRegistry(PACKAGES);
  const host = openHost({ log: { program: "test", level: "error" } });
  const started: ProcessSpec[] = [];
  const ports = {
    files: host.files,
    random: host.random,
    trees: denoTrees(),
    processes: {
      which: host.processes.which,
      run: (spec: Parameters<typeof host.processes.run>[0]) => {
        started.push(spec);
        return host.processes.run(spec);
      },
    },
  };
  const paths = pathsUnder(root);
  const self: Bench = {
    root,
    paths,
    registry,
    ports,
    started,
    env: { PATH: "/usr/bin:/bin", HOME: root, NPM_CONFIG_REGISTRY: registry.url },
    manifest: (version, change = (text) => text) => makeManifest(registry.url, version, change),
    vendor: (manifest, deno = DENO) => vendorEntry(manifest, ports, paths, { deno, env: self.env }),
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      await Deno.remove(root, { recursive: true });
    },
  };
  return self;
}

/** Writes the lock with the installer, like `mcp catalog add`. */
async function makeManifest(
  registry: string,
  version: string,
  change: (text: string) => string,
): Promise<Manifest> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(
      `${folder}/deno.json`,
      installConfig({ package: "@acme/server", version }),
    );
    const { success, stderr } = await new Deno.Command(DENO, {
      args: ["install", "-q"],
      cwd: folder,
      env: { NPM_CONFIG_REGISTRY: registry, DENO_DIR: `${folder}/cache`, NO_COLOR: "1" },
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    const lock = portableLock(await Deno.readTextFile(`${folder}/deno.lock`));
    const text = change(
      `name: acme
summary: A server
source: {npm: "@acme/server@${version}"}
integrity:
  package: ${lockedIntegrity(lock, `@acme/server@${version}`)}
  lock: ${await hashText(lock)}
command: node_modules/@acme/server/main.js
`,
    );
    const site = { name: "acme", file: "acme/mcp.yaml", origin: "overlay", lock } as const;
    const parsed = parseManifest(text, site);
    assert.ok(parsed.ok, JSON.stringify(parsed));
    return parsed.value;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Returns the text of the server's main module in the tree. */
export async function serverText(paths: Paths): Promise<string> {
  return await Deno.readTextFile(`${treePath(paths, "acme")}/node_modules/@acme/server/main.js`);
}

/** Returns the hidden names beside the trees, which an interrupted run leaves behind. */
export async function leftovers(paths: Paths): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(paths.deploy("acme"))) names.push(entry.name);
  return names.filter((name) => name.startsWith(".")).sort();
}
