/**
 * Batches writes: writes that arrive together share one transaction and thus one wait for the
 * disk. Each gets its own result. They run in the order of arrival.
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

/** Dependencies of a batch. */
export interface BatchDeps {
  readonly db: Database;
  readonly clock: Pick<Clock, "after">;
  readonly log: Log;
  /** What is stored, as a refusal names it: "the message". */
  readonly what: string;
}

/**
 * Resolves after the work is on disk; never rejects. `what` names the stored object in refusals.
 * The work may only use the database: if other work of its batch throws, it is run again, alone.
 */
export type Writer = <T>(what: string, work: () => Result<T>) => Promise<Result<T>>;

/** The writers of one database. */
export interface Writing {
  readonly write: Writer;
  /** Like `write`, but skips the pause after a batch, and runs first in its batch. */
  readonly writeFirst: Writer;
  /**
   * For writes that no caller waits for: joins the next batch, or starts one after `LATER_MS`.
   */
  readonly writeLater: Writer;
  /**
   * Schedules a batch as `write` does, and calls `job` right before it. `flush` does not call it.
   */
  readonly beforeNext: (job: () => void) => void;
  /** Writes all waiting work synchronously. */
  readonly flush: () => void;
}

/** Rows that are buffered and written once for all the work of a batch. */
export interface BufferedRows {
  /** Called before a transaction begins. */
  begin(): void;
  /** Writes the changed rows; the last step of the transaction. */
  save(): void;
  /** Called after a rollback: buffered rows may be wrong. */
  forget(): void;
}

interface Waiting {
  readonly what: string;
  readonly work: () => Result<unknown>;
  readonly resolve: (stored: Result<unknown>) => void;
}

type WritingDeps = Omit<BatchDeps, "what"> & {
  readonly clock: Pick<Clock, "after" | "monotonic">;
  readonly rows?: BufferedRows;
  /**
   * The pause after a batch, as a multiple of the batch's duration, so that disk writes do not
   * block the process all the time. `writeFirst` skips it. Defaults to 0.
   */
  readonly gapFactor?: number;
};

/** The longest pause after a batch. */
const GAP_MS_MAX = 8;

/** The longest time until `writeLater` work is written. */
const LATER_MS = 100;

/** Creates the writers. */
export function openWriter(deps: WritingDeps): Writing {
  const { clock, gapFactor = 0 } = deps;
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
    writeAll(deps, batch);
    const ended = clock.monotonic();
    restAt = ended + Math.min(GAP_MS_MAX, (ended - begun) * gapFactor);
  };
  const run = () => {
    const due = jobs;
    jobs = [];
    for (const job of due) job();
    flush();
  };
  /** Schedules a batch within `ms`; never in this round of the event loop. */
  const arm = (ms: number) => {
    const at = clock.monotonic() + ms;
    if (armed !== undefined && armed.at <= at) return;
    armed?.stop();
    armed = { at, stop: clock.after(ms, run) };
  };
  /** Returns the rest of the pause after the last batch. */
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

function writeAll(deps: WritingDeps, batch: readonly Waiting[]): void {
  const { db, rows } = deps;
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
    // A bug that one peer's data triggers must not refuse the writes of others.
    return batch.forEach(({ what, work, resolve }) => resolve(writeAlone(deps, what, work)));
  }
  batch.forEach(({ resolve }, index) => {
    const own = stored[index];
    if (own !== undefined) resolve(own);
  });
}

function writeAlone(
  { rows, ...deps }: WritingDeps,
  what: string,
  work: () => Result<unknown>,
): Result<unknown> {
  rows?.begin();
  const alone = writeBatch({ ...deps, what }, () => {
    const own = work();
    rows?.save();
    return own;
  });
  if (alone.ok) return alone.value;
  rows?.forget();
  return alone;
}

/**
 * Writes in one transaction. A bug is also returned as a refusal. This runs in a timer, where an
 * error ends the process, and a peer that repeats its delivery would end it again each time.
 */
export function writeBatch<T>({ db, log, what }: BatchDeps, work: () => T): Result<T> {
  try {
    return writeSql(db, what, work);
  } catch (thrown) {
    const error = errorText(thrown);
    log.error("not stored", { what, error });
    return err(refusal("storage-failed", `Cannot store ${what}: ${error}`));
  }
}
