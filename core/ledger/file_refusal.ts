/**
 * Maps file faults (a full disk, a missing permission, a broken device) to one refusal with its
 * next step, for functions of the ledger and the secret store. Rethrows anything else as a bug. No
 * I/O.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { FileFault } from "core/ports/files.ts";

/** Refusal code and state for each error code that an operator can resolve. */
const STATES: Readonly<Record<string, readonly [code: string, state: string]>> = {
  ENOSPC: ["disk-full", "no space is left on the disk"],
  EDQUOT: ["disk-full", "the disk quota is used up"],
  EACCES: ["not-permitted", "permission denied"],
  EPERM: ["not-permitted", "permission denied"],
  EROFS: ["read-only", "the file system is read-only"],
};

/** Returns a refusal `Cannot <action>: …` for a file fault; rethrows anything else. */
export function fileRefusal(thrown: unknown, action: string): Refusal {
  if (!(thrown instanceof FileFault)) throw thrown;
  const [code, state] = STATES[thrown.code] ?? ["file-fault", `${thrown.code}, ${thrown.message}`];
  const folder = thrown.path.slice(0, thrown.path.lastIndexOf("/")) || "/";
  return refusal(code, `Cannot ${action}: ${state} at "${thrown.path}", kept the old state`, {
    hints: [code === "disk-full" ? `df -h ${folder}` : `ls -ld ${folder} ${thrown.path}`],
  });
}
