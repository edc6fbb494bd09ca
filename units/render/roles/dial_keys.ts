/**
 * The enrolled dial keys of the fleet, in the gateway's format. The keys are public, so all users
 * may read the file; only root writes it. No I/O.
 *
 * @module
 */

import { type RenderedFile, ROOT_OWNER } from "core/files/rendered_file.ts";
import type { Paths } from "core/paths.ts";

/**
 * Renders `dial-keys.json`: agent or `host:<hostname>` to list of keys, sorted. An agent that never
 * had a key is absent. An agent whose keys were all revoked has an empty list, and no one can then
 * register as it.
 */
export function renderDialKeys(
  keys: ReadonlyMap<string, readonly string[]>,
  paths: Paths,
): RenderedFile {
  const enrolled = [...keys].sort(([a], [b]) => a < b ? -1 : 1);
  return {
    path: paths.dialKeys,
    content: `${JSON.stringify(Object.fromEntries(enrolled), null, 2)}\n`,
    mode: 0o644,
    owner: ROOT_OWNER,
    secret: false,
  };
}
