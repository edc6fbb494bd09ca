/**
 * Stamps of client configs: a file as one look at it tells, and what is desired of it. Reading a
 * thousand homes takes a thousand children that have become the agents; a look takes none, and says
 * whether a file is still the one that was found to be as desired. An agent that forges the time of
 * its own file keeps its own file as it forged it, and nothing more.
 *
 * @module
 */

import type { McpName } from "core/names.ts";
import type { FileStat } from "core/files/file_stat.ts";
import type { Paths } from "core/paths.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import type { ClientConfig } from "units/render/client_config.ts";

/** What a look takes. */
export type LookFiles = Pick<Files, "stat" | "readLink">;

/**
 * Returns the stamp of a config now; undefined when nothing is desired of it or no file is there.
 */
export async function stampOf(
  files: LookFiles,
  config: ClientConfig | undefined,
  of: { readonly held: ReadonlySet<McpName>; readonly paths: Paths },
): Promise<string | undefined> {
  if (config === undefined) return undefined;
  const { held, paths } = of;
  const stat = await statInHome(files, paths.home(config.agent), config.path);
  if (stat?.kind !== "file") return undefined;
  const { mtimeMs, size, mode, uid } = stat;
  const wanted = [config.at, [...config.entries], [...held].sort()];
  const hash = await sha256(new TextEncoder().encode(JSON.stringify(wanted)));
  return `${mtimeMs}:${size}:${mode}:${uid}:${hash}`;
}

/**
 * Looks at a file or folder of a home with this process's own rights; undefined when there is a
 * link on the way. An agent may put one there at any time: what is found is compared, and never
 * read or shown.
 */
export async function statInHome(
  files: LookFiles,
  home: string,
  path: string,
): Promise<FileStat | undefined> {
  // A workspace may be elsewhere: an operator has named it.
  const isInside = path.startsWith(`${home}/`);
  let at = home;
  try {
    for (const part of !isInside ? [] : path.slice(home.length + 1).split("/").slice(0, -1)) {
      at = `${at}/${part}`;
      if (await files.readLink(at) !== undefined) return undefined;
    }
    return await files.stat(path);
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    return undefined;
  }
}

/** SHA-256 in hexadecimal. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
