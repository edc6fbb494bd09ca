/**
 * The Debian package of the tree, built once and reused while the tree does not change. Tests that
 * install it run in separate processes and share the first build.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TREE, treeFiles } from "tests/support/module_graph.ts";

const PACKAGES = `${TREE}.cache/packages`;

/**
 * Copies the package into a new folder, which the caller must remove. Builds the package first when
 * it is missing.
 */
export async function buildPackage(): Promise<string> {
  await Deno.mkdir(PACKAGES, { recursive: true });
  // Held until this function returns: a second process waits, and then finds the finished build.
  using lock = await Deno.open(`${PACKAGES}/lock`, { create: true, write: true });
  await lock.lock(true);
  const key = await packageKey();
  const built = `${PACKAGES}/${key}`;
  if (!await Deno.stat(built).then(() => true, () => false)) await build(built);
  const out = await Deno.makeTempDir({ prefix: "fleetctl-deb-" });
  for (const name of await packagesIn(built)) {
    await Deno.copyFile(`${built}/${name}`, `${out}/${name}`);
  }
  return out;
}

async function packagesIn(folder: string): Promise<readonly string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return entries.map(({ name }) => name).filter((name) => name.endsWith(".deb"));
}

/** Returns one hash over everything that the package depends on. */
async function packageKey(): Promise<string> {
  const files = (await treeFiles("")).filter((file) => !file.startsWith("tests/"));
  const parts: string[] = [Deno.version.deno, Deno.env.get("DENORT_BIN") ?? "", await head()];
  for (const file of files) parts.push(file, await hash(await Deno.readFile(TREE + file)));
  return await hash(new TextEncoder().encode(JSON.stringify(parts)));
}

/** Returns the commit; the package uses its time. */
async function head(): Promise<string> {
  const printed = await new Deno.Command("git", { args: ["rev-parse", "HEAD"], cwd: TREE })
    .output();
  return new TextDecoder().decode(printed.stdout);
}

async function hash(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** Builds the package into a folder and removes older builds. The folder is complete or absent. */
async function build(to: string): Promise<void> {
  const out = await Deno.makeTempDir({ dir: PACKAGES, prefix: "new-" });
  try {
    const made = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-q", "-A", "--cached-only", "--no-prompt", "units/package/main.ts"]
        .concat(["--out", out]),
      cwd: TREE,
      env: { NO_COLOR: "1" },
    }).output();
    const printed = new TextDecoder().decode(made.stdout) + new TextDecoder().decode(made.stderr);
    assert.ok(made.success, printed);
    const packages = `${out}/packages`;
    await Deno.mkdir(packages);
    for (const name of await packagesIn(out)) {
      await Deno.rename(`${out}/${name}`, `${packages}/${name}`);
    }
    for (const { name } of await Array.fromAsync(Deno.readDir(PACKAGES))) {
      if (/^[0-9a-f]{64}$/.test(name)) {
        await Deno.remove(`${PACKAGES}/${name}`, { recursive: true });
      }
    }
    await Deno.rename(packages, to);
  } finally {
    await Deno.remove(out, { recursive: true });
  }
}
