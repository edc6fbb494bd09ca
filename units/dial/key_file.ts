/**
 * The agent's dial key: made on its own host at the first start, kept 0600 in its home, and never
 * sent anywhere but as a signature.
 *
 * @module
 */

import { type DialKey, generateDialKey, parseDialKey } from "core/dial/proof.ts";
import type { Files } from "core/ports/files.ts";
import { ok, type Result } from "core/result.ts";

/** Reads the key, or makes one. A damaged file is refused: a new key would not be believed. */
export async function loadDialKey(files: Files, path: string): Promise<Result<DialKey>> {
  const stored = await files.readText(path);
  if (stored !== undefined) return await parseDialKey(stored);
  const made = await generateDialKey();
  await files.write(path, made.stored, { mode: 0o600 });
  return ok(made.key);
}
