/**
 * Keeps parsed YAML from one verb to the next, in a file that only its owner can have written: the
 * verbs of root believe what it says about the ledger. Losing it costs a second, and no more.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import type { Users } from "core/ports/users.ts";
import { parseJsonObject } from "core/text/json_object.ts";
import { closeKept, type KeptYaml, openKept } from "core/text/yaml_kept.ts";

const MODE = 0o600;
/** Tens of thousands of shards; a larger file is not read. */
const BYTES_MAX = 32 * 1024 * 1024;

interface Site {
  readonly ports: { readonly files: Files; readonly users: Users };
  readonly paths: Paths;
  /** A value is believed by the version that has written it only. */
  readonly version: string;
}

/** Runs `work` with what earlier verbs parsed; keeps what it parsed itself. */
export async function withKeptYaml<T>(site: Site, work: () => Promise<T>): Promise<T> {
  const uid = site.ports.users.currentUid();
  // Under `/` only root may write the state: verbs of other users parse the files themselves.
  if (site.paths.root === "/" && uid !== 0) return await work();
  openKept(await read(site, uid));
  try {
    return await work();
  } finally {
    const entries = closeKept();
    if (entries !== undefined) await write(site, entries);
  }
}

async function read(
  { ports: { files }, paths, version }: Site,
  uid: number,
): Promise<readonly KeptYaml[]> {
  try {
    // A folder or file that others may write could hold what they want root to believe.
    const folder = await files.stat(paths.state);
    const file = await files.stat(paths.keptYaml);
    const isOwn = folder?.kind === "directory" && folder.uid === uid &&
      (folder.mode & 0o022) === 0 && file?.kind === "file" && file.mode === MODE;
    if (!isOwn) return [];
    const text = await files.readPlain(paths.keptYaml, { bytesMax: BYTES_MAX, uid });
    const value = parseJsonObject(text ?? "");
    return value?.version === version && isEntries(value.texts) ? value.texts : [];
  } catch (thrown) {
    if (thrown instanceof FileFault) return [];
    throw thrown;
  }
}

function isEntries(value: unknown): value is readonly KeptYaml[] {
  return Array.isArray(value) &&
    value.every((each) => Array.isArray(each) && each.length === 2 && typeof each[0] === "string");
}

async function write(
  { ports: { files }, paths, version }: Site,
  texts: readonly KeptYaml[],
): Promise<void> {
  try {
    await files.write(paths.keptYaml, JSON.stringify({ version, texts }), { mode: MODE });
  } catch (thrown) {
    // A full disk, or a root that is only looked at: the next verb parses again.
    if (!(thrown instanceof FileFault)) throw thrown;
  }
}
