/**
 * Replaces each unreadable entry of the overlay catalog with its newest readable version in git,
 * and reports it as a fault. Reads git only if there is a fault. Writes nothing.
 *
 * @module
 */

import {
  type Catalog,
  type CatalogFault,
  readCatalog,
  readCatalogEntry,
} from "core/catalog/catalog.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import type { Refusal } from "core/errors.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { type CommittedFiles, lastGood } from "core/ledger/last_good.ts";
import { fallbackFault } from "core/ledger/ledger.ts";
import { type FileReader, overlaid } from "core/ledger/overlay.ts";
import { type McpName, parseMcpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";

/**
 * Adds the last good version of each unreadable overlay entry. If the overlay never had a good
 * version, the entry of the layer below is used.
 */
export async function addLastGoodEntries(
  ports: LedgerPorts,
  paths: Paths,
  catalog: Catalog,
): Promise<Result<Catalog>> {
  const entries = new Map<McpName, Manifest>(catalog.entries);
  const faults: CatalogFault[] = [];
  for (const fault of catalog.faults) {
    const name = parseMcpName(fault.name);
    const isOverlay = fault.file.startsWith(`${paths.overlayCatalog}/`);
    const kept = name.ok && isOverlay
      ? await lastGoodEntry(ports, paths, { name: name.value, fault: fault.refusal })
      : ok(undefined);
    if (!kept.ok) return kept;
    if (kept.value === undefined) {
      faults.push(fault);
      continue;
    }
    const { manifest, commit } = kept.value;
    entries.set(manifest.name, manifest);
    const reason = commit === undefined
      ? fault.refusal
      : fallbackFault(fault.refusal, `MCP "${fault.name}"`, commit);
    faults.push({ ...fault, refusal: reason });
  }
  return ok({ entries: new Map([...entries].sort(byName)), faults });
}

/** Returns the effective entry. An entry of a layer below the overlay has no commit. */
async function lastGoodEntry(
  ports: LedgerPorts,
  paths: Paths,
  { name, fault }: { readonly name: McpName; readonly fault: Refusal },
): Promise<
  Result<{ readonly manifest: Manifest; readonly commit: string | undefined } | undefined>
> {
  const found = await lastGood(ports, paths, {
    name: `catalog/${name}`,
    read: async (files) => {
      const at = { folder: paths.overlayCatalog, name, origin: "overlay" } as const;
      const entry = await readCatalogEntry(committed(files, paths), at);
      if (entry?.ok === true) return entry;
      return err(entry?.error.refusal ?? fault);
    },
  });
  if (!found.ok) return found;
  if (found.value.kind === "good") {
    return ok({ manifest: found.value.value, commit: found.value.commit });
  }
  if (found.value.kind === "bad") return ok(undefined);
  const { files } = ports;
  const below = await readCatalog({
    files: {
      readText: (path) => files.readText(path),
      stat: (path) => files.stat(path),
      list: async (path) =>
        (await files.list(path)).filter((each) => path !== paths.overlayCatalog || each !== name),
    },
  }, paths);
  if (!below.ok) return below;
  const manifest = below.value.entries.get(name);
  return ok(manifest === undefined ? undefined : { manifest, commit: undefined });
}

/** Presents the files of one commit under their paths in the repository. */
function committed(files: CommittedFiles, paths: Paths): FileReader {
  const nothing: FileReader = {
    list: () => Promise.resolve([]),
    readText: () => Promise.resolve(undefined),
    stat: () => Promise.resolve(undefined),
  };
  return overlaid(
    nothing,
    [...files].map(([name, text]) => {
      const path = `${paths.repo}/${name}`;
      return { path, name, mode: 0o644, before: undefined, text };
    }),
  );
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
