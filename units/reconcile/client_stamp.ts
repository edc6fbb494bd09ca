/**
 * Stamps of client configs: a file as one look at it tells, and what is desired of it. Reading a
 * thousand homes takes a thousand children that have become the agents; a look takes none, and says
 * whether a file is still the one that was found to be as desired. An agent that forges the time of
 * its own file keeps its own file as it forged it, and nothing more.
 *
 * @module
 */

import type { McpName } from "core/names.ts";
import type { Files } from "core/ports.ts";
import type { ClientConfig } from "units/render/client_config.ts";

/** Returns the stamp of a config now; undefined when nothing is desired of it or no file is there. */
export async function stampOf(
  files: Pick<Files, "stat">,
  config: ClientConfig | undefined,
  held: ReadonlySet<McpName>,
): Promise<string | undefined> {
  if (config === undefined) return undefined;
  const stat = await files.stat(config.path).catch(() => undefined);
  if (stat?.kind !== "file") return undefined;
  const { mtimeMs, size, mode, uid } = stat;
  const wanted = [config.at, [...config.entries], [...held].sort()];
  const hash = await sha256(new TextEncoder().encode(JSON.stringify(wanted)));
  return `${mtimeMs}:${size}:${mode}:${uid}:${hash}`;
}

/** SHA-256 in hexadecimal. */
export async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
