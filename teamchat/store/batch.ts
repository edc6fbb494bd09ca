/**
 * Writes that arrive together share one transaction, and so one wait for the disk; each still gets its
 * own result. They are made in the order in which they came.
 *
 * @module
 */

import { errorText, refusal } from "core/errors.ts";
import { type Clock, type Database, FileFault, type Log } from "core/ports.ts";
import { err, type Result } from "core/result.ts";
import { storageFault, writeSql } from "core/sql_write.ts";

/** Where batches are written. */
export interface BatchParts {
  readonly db: Database;
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
  /** Names what is stored in refusals: "the message". */
  readonly what: string;
}

/**
 * Resolves after the work is on the disk, and never rejects. `what` names its object in refusals. The
 * work touches nothing but the database: it is run again by itself when another one of its batch throws.
 */
export type Writer = <T>(what: string, work: () => Result<T>) => Promise<Result<T>>;

interface Waiting {
  readonly what: string;
  readonly work: () => Result<unknown>;
  readonly resolve: (stored: Result<unknown>) => void;
}

/** Makes a writer; `flush` writes what waits, at once. */
export function openWriter(
  parts: Omit<BatchParts, "what">,
): { readonly write: Writer; readonly flush: () => void } {
  let waiting: Waiting[] = [];
  const flush = () => {
    const batch = waiting;
    waiting = [];
    if (batch.length > 0) writeAll(parts, batch);
  };
  const write: Writer = <T>(what: string, work: () => Result<T>) =>
    new Promise<Result<T>>((resolve) => {
      waiting.push({ what, work, resolve: resolve as Waiting["resolve"] });
      // After this round of the event loop: what arrived in it goes to the disk together.
      if (waiting.length === 1) parts.clock.after(0, flush);
    });
  return { write, flush };
}

function writeAll(parts: Omit<BatchParts, "what">, batch: readonly Waiting[]): void {
  let stored: readonly Result<unknown>[];
  try {
    stored = parts.db.transaction(() => batch.map(({ work }) => work()));
  } catch (thrown) {
    if (thrown instanceof FileFault) {
      return batch.forEach(({ what, resolve }) => resolve(err(storageFault(what, thrown))));
    }
    // A fault of the program in what one peer sent is no reason to refuse what others did.
    return batch.forEach(({ what, work, resolve }) => {
      const alone = writeBatch({ ...parts, what }, work);
      resolve(alone.ok ? alone.value : alone);
    });
  }
  batch.forEach(({ resolve }, index) => {
    const own = stored[index];
    if (own !== undefined) resolve(own);
  });
}

/**
 * Writes in one transaction. A fault of the program is a refusal here too: this runs in a timer,
 * where a throw ends the process, and a peer that repeats its delivery would end each next one.
 */
export function writeBatch<T>({ db, log, what }: BatchParts, work: () => T): Result<T> {
  try {
    return writeSql(db, what, work);
  } catch (thrown) {
    const error = errorText(thrown);
    log.error("not stored", { what, error });
    return err(refusal("storage-failed", `Cannot store ${what}: ${error}`));
  }
}
