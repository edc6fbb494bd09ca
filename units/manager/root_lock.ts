/**
 * Prevents two managers on one root. A kernel lock ends with the process that holds it. A file
 * beside the lock contains the pid of that process.
 *
 * @module
 */

import type { Files, Lock } from "core/ports/files.ts";
import { refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";

/** Locks the root for this process, or refuses with `already-running` and the holder's pid. */
export async function lockRoot(paths: Paths, files: Files, ownPid: number): Promise<Result<Lock>> {
  const holderPath = `${paths.managerState}/pid`;
  const lock = await files.tryLock(`${paths.managerState}/lock`);
  if (lock !== undefined) {
    await files.write(holderPath, `${ownPid}\n`, { mode: 0o600 });
    return ok(lock);
  }
  const pid = (await files.readText(holderPath))?.trim() ?? "";
  const holder = /^\d+$/.test(pid) ? `by process ${pid}` : "by another process";
  return err(refusal(
    "already-running",
    `Cannot start services under ${JSON.stringify(paths.root)}: ` +
      `the root is in use ${holder}, must be free`,
    { hints: /^\d+$/.test(pid) ? [`kill ${pid}`] : [] },
  ));
}
