/**
 * The agent's dial key. It is created on the agent's host at the first start and kept with mode
 * 0600 in the agent's home. The key never leaves the host; only signatures do.
 *
 * @module
 */

import { type DialKey, generateDialKey, parseDialKey } from "core/dial/proof.ts";
import type { Files } from "core/ports/files.ts";
import { ok, type Result } from "core/result.ts";

/**
 * Reads the key, or creates one. Refuses a damaged file, because the gateway would not accept a new
 * key.
 */
export async function loadDialKey(files: Files, path: string): Promise<Result<DialKey>> {
  const stored = await files.readText(path);
  if (stored !== undefined) return await parseDialKey(stored);
  const made = await generateDialKey();
  await files.write(path, made.stored, { mode: 0o600 });
  return ok(made.key);
}
