/**
 * One write to a SQLite store as a `Result`. A disk failure becomes a refusal, so that no caller
 * acknowledges data that was not stored. Program errors are still thrown.
 *
 * @module
 */

import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { Database } from "core/ports/databases.ts";
import { FileFault } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";

/** Runs `work` in one transaction; `what` names the stored object: "the event". */
export function writeSql<T>(db: Database, what: string, work: () => T): Result<T> {
  try {
    return ok(db.transaction(work));
  } catch (thrown) {
    if (thrown instanceof FileFault) return err(storageFault(what, thrown));
    throw thrown;
  }
}

/** Returns the refusal for a file fault: `storage-full` or `storage-failed`. */
export function storageFault(what: string, fault: FileFault): Refusal {
  return fault.code === "ENOSPC"
    ? refusal("storage-full", `Cannot store ${what}: no space left on the disk, must have room`, {
      hints: ["df -h"],
    })
    : refusal("storage-failed", `Cannot store ${what}: ${errorText(fault)}`);
}
