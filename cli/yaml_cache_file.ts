/**
 * Caches parsed YAML between verbs. Root's verbs trust this cache for the content of the ledger, so
 * only its owner may be able to write it. Losing the cache costs only a second.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import type { Users } from "core/ports/users.ts";
import { parseJsonObject } from "core/text/json_object.ts";
import { type CachedYaml, closeYamlCache, openYamlCache } from "core/text/yaml_cache.ts";

const MODE = 0o600;
/** Enough for tens of thousands of shards. A larger file is not read. */
const BYTES_MAX = 32 * 1024 * 1024;

interface CacheContext {
  readonly ports: { readonly files: Files; readonly users: Users };
  readonly paths: Paths;
  /** A cache is valid only for the version that wrote it. */
  readonly version: string;
}

/**
 * Runs `work` with the values that earlier verbs parsed, and stores the values it parsed itself.
 */
export async function withYamlCache<T>(context: CacheContext, work: () => Promise<T>): Promise<T> {
  const uid = context.ports.users.currentUid();
  // Under `/` only root may write the state. Verbs of other users parse the files themselves.
  if (context.paths.root === "/" && uid !== 0) return await work();
  openYamlCache(await read(context, uid));
  try {
    return await work();
  } finally {
    const entries = closeYamlCache();
    if (entries !== undefined) await write(context, entries);
  }
}

async function read(
  { ports: { files }, paths, version }: CacheContext,
  uid: number,
): Promise<readonly CachedYaml[]> {
  try {
    // A folder or file that others can write could contain forged values for root.
    const folder = await files.stat(paths.state);
    const file = await files.stat(paths.yamlCache);
    const isOwn = folder?.kind === "directory" && folder.uid === uid &&
      (folder.mode & 0o022) === 0 && file?.kind === "file" && file.mode === MODE;
    if (!isOwn) return [];
    const text = await files.readPlain(paths.yamlCache, { bytesMax: BYTES_MAX, uid });
    const value = parseJsonObject(text ?? "");
    return value?.version === version && isEntries(value.texts) ? value.texts : [];
  } catch (thrown) {
    if (thrown instanceof FileFault) return [];
    throw thrown;
  }
}

function isEntries(value: unknown): value is readonly CachedYaml[] {
  return Array.isArray(value) &&
    value.every((each) => Array.isArray(each) && each.length === 2 && typeof each[0] === "string");
}

async function write(
  { ports: { files }, paths, version }: CacheContext,
  texts: readonly CachedYaml[],
): Promise<void> {
  try {
    await files.write(paths.yamlCache, JSON.stringify({ version, texts }), { mode: MODE });
  } catch (thrown) {
    // On a full disk or a read-only root the next verb parses again.
    if (!(thrown instanceof FileFault)) throw thrown;
  }
}
