/**
 * Writes that arrive together share one transaction, and so one wait for the disk; each still gets its
 * own result.
 *
 * @module
 */

import { errorText, refusal } from "core/errors.ts";
import type { Clock, Database, Log } from "core/ports.ts";
import { err, type Result } from "core/result.ts";
import { writeSql } from "core/sql_write.ts";

/** Where batches are written. */
export interface BatchParts {
  readonly db: Database;
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
  /** Names what is stored in refusals: "the message". */
  readonly what: string;
}

/** Makes a function that resolves after its item is on the disk, and never rejects. */
export function batched<Item, Stored>(
  parts: BatchParts,
  storeOne: (item: Item) => Result<Stored>,
): (item: Item) => Promise<Result<Stored>> {
  let waiting: { readonly item: Item; readonly resolve: (stored: Result<Stored>) => void }[] = [];
  const flush = () => {
    const batch = waiting;
    waiting = [];
    const written = writeBatch(parts, () => batch.map(({ item }) => storeOne(item)));
    batch.forEach(({ resolve }, index) => {
      if (!written.ok) return resolve(written);
      const stored = written.value[index];
      if (stored !== undefined) resolve(stored);
    });
  };
  return (item) =>
    new Promise((resolve) => {
      waiting.push({ item, resolve });
      // After this round of the event loop: what arrived in it goes to the disk together.
      if (waiting.length === 1) parts.clock.after(0, flush);
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
