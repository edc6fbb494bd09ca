/**
 * What a full disk, a missing right or a broken device says to the caller of a ledger or store
 * function: one refusal with its next step. Anything else thrown is a bug and goes on up. No I/O.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { FileFault } from "core/ports/files.ts";

/** State and next step for each code that an operator can mend. */
const STATES: Readonly<Record<string, readonly [code: string, state: string]>> = {
  ENOSPC: ["disk-full", "no space is left on the disk"],
  EDQUOT: ["disk-full", "the disk quota is used up"],
  EACCES: ["not-permitted", "permission denied"],
  EPERM: ["not-permitted", "permission denied"],
  EROFS: ["read-only", "the file system is read-only"],
};

/** Turns a file fault into a refusal `Cannot <action>: …`; throws anything else again. */
export function fileRefusal(thrown: unknown, action: string): Refusal {
  if (!(thrown instanceof FileFault)) throw thrown;
  const [code, state] = STATES[thrown.code] ?? ["file-fault", `${thrown.code}, ${thrown.message}`];
  const folder = thrown.path.slice(0, thrown.path.lastIndexOf("/")) || "/";
  return refusal(code, `Cannot ${action}: ${state} at "${thrown.path}", kept the old state`, {
    hints: [code === "disk-full" ? `df -h ${folder}` : `ls -ld ${folder} ${thrown.path}`],
  });
}
