/**
 * Which shipped entries may be in a default set.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";

/** Returns whether an MCP needs no credential. */
export function isCredentialFree(manifest: Manifest): boolean {
  return manifest.auth === "none" && manifest.requiredEnv.length === 0 &&
    manifest.userEnv.length === 0;
}
