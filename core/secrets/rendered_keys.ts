/**
 * Reads an agent's keys as they were rendered for its programs. The agent's own file overrides the
 * shared one. Reads with the caller's permissions, so an unreadable file exposes no keys.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import { ok, type Result } from "core/result.ts";
import { parseEnvFile } from "core/text/env_file.ts";

/** Reads both files; a missing file has no keys. */
export async function readRenderedKeys(
  files: Pick<Files, "readText">,
  paths: Paths,
  agent: string,
): Promise<Result<ReadonlyMap<string, string>>> {
  const values = new Map<string, string>();
  for (const path of [paths.sharedEnv, paths.agentEnv(agent)]) {
    const parsed = parseEnvFile(await files.readText(path) ?? "");
    if (!parsed.ok) return parsed;
    for (const [key, value] of parsed.value) values.set(key, value);
  }
  return ok(values);
}
