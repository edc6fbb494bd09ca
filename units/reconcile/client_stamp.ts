/**
 * Stamps of client configs: a file's metadata and its desired content. To read the configs of a
 * thousand homes takes a thousand child processes with the agents' rights. A stat takes none, and
 * shows whether a file is unchanged since it last matched. An agent that forges the time of its
 * file harms only itself: its forged file stays.
 *
 * @module
 */

import type { McpName } from "core/names.ts";
import type { FileStat } from "core/files/file_stat.ts";
import type { Paths } from "core/paths.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import type { ClientConfig } from "units/render/client_config.ts";

/** File operations that a stamp needs. */
export type StampFiles = Pick<Files, "stat" | "readLink">;

/**
 * Returns the current stamp of a config; undefined when no content is desired or the file is
 * absent.
 */
export async function stampOf(
  files: StampFiles,
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
 * Returns the stat of a path in a home with this process's own rights; undefined when a folder of
 * the path is a link. An agent may create a link at any time: the result is only compared, never
 * read or shown.
 */
export async function statInHome(
  files: StampFiles,
  home: string,
  path: string,
): Promise<FileStat | undefined> {
  // An operator may have set a workspace outside the home.
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

/** Returns the SHA-256 in hexadecimal. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
