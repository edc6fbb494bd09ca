/**
 * The key that signs root executions. The signer and the verifier read it from the same file.
 * Refuses a key file that anyone but its owner could read or write.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import { parseEnvFile } from "core/text/env_file.ts";
import { GRANT_KEY_BYTES_MIN } from "core/verbs/grant.ts";

const NAME = "FLEETCTL_HOST_OP_GRANT_SECRET";

/** Reads the key; `uid` is the user of this program, and must own the file. */
export async function readGrantKey(
  files: Pick<Files, "readText" | "stat">,
  paths: Pick<Paths, "hostOpKeys">,
  uid: number,
): Promise<Result<string>> {
  const stat = await files.stat(paths.hostOpKeys);
  if (stat === undefined) return bad(paths, "there is no such file");
  if (stat.kind !== "file") return bad(paths, "it is not a regular file");
  if ((stat.mode & 0o077) !== 0) {
    return bad(paths, `its mode is 0${stat.mode.toString(8)}, must be 0600`);
  }
  if (stat.uid !== uid) return bad(paths, `it belongs to uid ${stat.uid}, must belong to ${uid}`);
  const parsed = parseEnvFile(await files.readText(paths.hostOpKeys) ?? "");
  if (!parsed.ok) return parsed;
  const key = parsed.value.get(NAME);
  if (key === undefined || key.length < GRANT_KEY_BYTES_MIN) {
    return bad(paths, `${NAME} has fewer than ${GRANT_KEY_BYTES_MIN} characters`);
  }
  return ok(key);
}

function bad(paths: Pick<Paths, "hostOpKeys">, found: string): Result<never> {
  return err(refusal(
    "grant-key-unusable",
    `Cannot use the key file "${paths.hostOpKeys}": ${found}`,
    { hints: ["fleetctl apply"] },
  ));
}
