/**
 * The vendor cache that tests share. The preparation step fills it once from the registry;
 * afterwards it is used offline. One Deno cache per shipped npm entry, as on a host.
 *
 * @module
 */

import { SHIPPED_ENTRIES } from "core/catalog/shipped.ts";
import { parseManifest } from "core/catalog/parse_manifest.ts";
import { runInstall } from "core/catalog/install.ts";
import { installConfig } from "core/catalog/install.ts";
import { systemProcesses } from "core/os/processes.ts";

/**
 * The entries that tests start. The whole shipped set is more than a gigabyte when unpacked. The
 * rest is fetched only for `./dev catalog`, `./dev bench catalog` and tests with
 * FLEETCTL_CATALOG=all.
 */
export const TESTED_ENTRIES: readonly string[] = [
  "architecture",
  "audio",
  "browser",
  "code-host",
  "git",
  "search-a",
  "search-b",
];

/** The cache of this checkout. */
export const VENDOR_CACHE = new URL("../../.cache/vendor", import.meta.url).pathname;

/** Selected entries: those that tests start, all, or the given names. */
type Which = "tested" | "all" | readonly string[];

function entriesOf(which: Which) {
  const names = which === "tested" ? TESTED_ENTRIES : which;
  return SHIPPED_ENTRIES.flatMap(({ name, manifest, lock }) =>
    lock !== undefined && (names === "all" || names.includes(name))
      ? [{ name, manifest, lock }]
      : []
  );
}

/**
 * Returns a key that changes when the cache needs another package or a package's folder is missing.
 */
export async function vendorKey(which: Which): Promise<string> {
  const parts: string[] = [Deno.version.deno];
  for (const { name, manifest, lock } of entriesOf(which)) {
    const isPresent = await Deno.stat(`${VENDOR_CACHE}/${name}`).then(() => true, () => false);
    parts.push(name, manifest, lock, String(isPresent));
  }
  const bytes = new TextEncoder().encode(JSON.stringify(parts));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** Fetches the packages of shipped npm entries that the cache lacks. */
export async function fillVendorCache(
  say: (line: string) => void,
  which: Which,
): Promise<void> {
  for (const entry of entriesOf(which)) {
    const { name, lock } = entry;
    const site = { name, file: `shipped/${name}/mcp.yaml`, origin: "shipped", lock } as const;
    const parsed = parseManifest(entry.manifest, site);
    if (!parsed.ok) throw new Error(parsed.error.details.join("\n"));
    const { source } = parsed.value;
    if (source.kind !== "npm") continue;
    const folder = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${folder}/deno.json`, installConfig(source));
      await Deno.writeTextFile(`${folder}/deno.lock`, lock);
      const install = {
        mcp: name,
        package: source.package,
        version: source.version,
        folder,
        cache: `${VENDOR_CACHE}/${name}`,
        deno: Deno.execPath(),
        env: Deno.env.toObject(),
      };
      const cached = await runInstall(systemProcesses(), install, { frozen: true, offline: true });
      if (cached.ok) continue;
      say(`fetching the packages of MCP "${name}"`);
      const fetched = await runInstall(systemProcesses(), install, {
        frozen: true,
        offline: false,
      });
      if (!fetched.ok) {
        throw new Error([fetched.error.message, ...fetched.error.details].join("\n"));
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }
}

/** Links the shared cache into a test's root. The test must not write through the link. */
export async function linkVendorCache(root: string): Promise<void> {
  await Deno.mkdir(`${root}/var/lib/fleetctl`, { recursive: true });
  await Deno.symlink(VENDOR_CACHE, `${root}/var/lib/fleetctl/vendor-cache`);
}
