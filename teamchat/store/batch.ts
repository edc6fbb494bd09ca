/**
 * Writes that arrive together share one transaction, and so one wait for the disk; each still gets
 * its own result. They are made in the order in which they came.
 *
 * @module
 */

import { errorText, refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Database } from "core/ports/databases.ts";
import { FileFault } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { err, type Result } from "core/result.ts";
import { storageFault, writeSql } from "core/store/sql_write.ts";

/** Where batches are written. */
export interface BatchParts {
  readonly db: Database;
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
  /** Names what is stored in refusals: "the message". */
  readonly what: string;
}

/**
 * Resolves after the work is on the disk, and never rejects. `what` names its object in
 * refusals. The work touches nothing but the database: it is run again by itself when
 * another one of its batch throws.
 */
export type Writer = <T>(what: string, work: () => Result<T>) => Promise<Result<T>>;

/** A writer and what goes with it. */
export interface Writing {
  readonly write: Writer;
  /** The same at once, and before everything of its batch that is not `writeFirst`. */
  readonly writeFirst: Writer;
  /** The same, when there is a batch anyway, or a little later: for what nobody waits for. */
  readonly writeLater: Writer;
  /** Calls `job` right before a batch that comes as soon as `write` would; not after a `flush`. */
  readonly beforeNext: (job: () => void) => void;
  /** Writes what waits, at once. */
  readonly flush: () => void;
}

/** Rows that are held back and written once for all works of a batch. */
export interface HeldRows {
  /** A transaction is about to begin. */
  begin(): void;
  /** Writes what the works changed; the last thing in the transaction. */
  save(): void;
  /** The transaction was undone: what is remembered of rows may be wrong. */
  forget(): void;
}

interface Waiting {
  readonly what: string;
  readonly work: () => Result<unknown>;
  readonly resolve: (stored: Result<unknown>) => void;
}

type WritingParts = Omit<BatchParts, "what"> & {
  readonly clock: Pick<Clock, "after" | "monotonic">;
  readonly rows?: HeldRows;
  /**
   * What is not `writeFirst` keeps away from the batch before by this many times what that took, so
   * that not all the time goes to the disk, for which everything stands still. 0 when absent.
   */
  readonly gapFactor?: number;
};

/** The longest of such gaps. */
const GAP_MS_MAX = 8;

/** What nobody waits for is written after this long at the latest. */
const LATER_MS = 100;

/** Makes a writer. */
export function openWriter(parts: WritingParts): Writing {
  const { clock, gapFactor = 0 } = parts;
  let [first, rest]: [Waiting[], Waiting[]] = [[], []];
  let jobs: (() => void)[] = [];
  let armed: { readonly at: number; readonly stop: () => void } | undefined;
  let restAt = -Infinity;
  const flush = () => {
    armed?.stop();
    armed = undefined;
    const batch = [...first, ...rest];
    [first, rest] = [[], []];
    if (batch.length === 0) return;
    const begun = clock.monotonic();
    writeAll(parts, batch);
    const ended = clock.monotonic();
    restAt = ended + Math.min(GAP_MS_MAX, (ended - begun) * gapFactor);
  };
  const run = () => {
    const due = jobs;
    jobs = [];
    for (const job of due) job();
    flush();
  };
  /** Sees to a batch in `ms` at the latest; never in this round of the event loop. */
  const arm = (ms: number) => {
    const at = clock.monotonic() + ms;
    if (armed !== undefined && armed.at <= at) return;
    armed?.stop();
    armed = { at, stop: clock.after(ms, run) };
  };
  /**
   * The wait of what need not be on the disk at once; whatever is written meanwhile takes it along.
   */
  const gap = () => Math.max(0, restAt - clock.monotonic());
  const writer =
    (add: (one: Waiting) => void): Writer => <T>(what: string, work: () => Result<T>) =>
      new Promise<Result<T>>((resolve) =>
        add({ what, work, resolve: resolve as Waiting["resolve"] })
      );
  return {
    write: writer((one) => {
      rest.push(one);
      arm(gap());
    }),
    writeFirst: writer((one) => {
      first.push(one);
      arm(0);
    }),
    writeLater: writer((one) => {
      rest.push(one);
      arm(LATER_MS);
    }),
    beforeNext: (job) => {
      jobs.push(job);
      arm(gap());
    },
    flush,
  };
}

function writeAll(parts: WritingParts, batch: readonly Waiting[]): void {
  const { db, rows } = parts;
  let stored: readonly Result<unknown>[];
  try {
    rows?.begin();
    stored = db.transaction(() => {
      const all = batch.map(({ work }) => work());
      rows?.save();
      return all;
    });
  } catch (thrown) {
    rows?.forget();
    if (thrown instanceof FileFault) {
      return batch.forEach(({ what, resolve }) => resolve(err(storageFault(what, thrown))));
    }
    // A fault of the program in what one peer sent is no reason to refuse what others did.
    return batch.forEach(({ what, work, resolve }) => resolve(writeAlone(parts, what, work)));
  }
  batch.forEach(({ resolve }, index) => {
    const own = stored[index];
    if (own !== undefined) resolve(own);
  });
}

function writeAlone(
  { rows, ...parts }: WritingParts,
  what: string,
  work: () => Result<unknown>,
): Result<unknown> {
  rows?.begin();
  const alone = writeBatch({ ...parts, what }, () => {
    const own = work();
    rows?.save();
    return own;
  });
  if (alone.ok) return alone.value;
  rows?.forget();
  return alone;
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
