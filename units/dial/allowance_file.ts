/**
 * What people allowed an agent beyond its ceilings, and of which ceilings it was warned, for their
 * current periods. One small file in the dial unit's folder. It is no boundary against the agent's
 * own programs, which run as the same user.
 *
 * @module
 */

import * as z from "zod";
import { errorText, refusal } from "core/errors.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { err, ok, type Result } from "core/result.ts";
import { parseJsonObject } from "core/text/json_object.ts";
import type { Allowance } from "core/usage/spend.ts";

/** What one period of a ceiling has. */
export interface PeriodRecord extends Allowance {
  readonly isWarned: boolean;
}

/** The stored records. */
export interface AllowanceFile {
  /** Those of periods that have not ended. */
  current(now: number): readonly PeriodRecord[];
  /** Stores the record of a period; the change counts only once it is on disk. */
  put(record: PeriodRecord, now: number): Promise<Result<void>>;
}

const stored = z.object({
  records: z.array(z.object({
    key: z.string().max(64),
    since: z.number().int(),
    more: z.number().nonnegative(),
    byOwner: z.number().nonnegative(),
    isWarned: z.boolean(),
  })).max(64),
});

/** A month has at most this many days; an older record is of no current period. */
const PERIOD_MS_MAX = 31 * 24 * 60 * 60 * 1_000;

/**
 * Reads the file. One that cannot be read, or is damaged, counts as empty: what was allowed must
 * then be allowed again.
 */
export async function openAllowanceFile(
  deps: { readonly files: Pick<Files, "readText" | "write">; readonly log: Log; path: string },
): Promise<AllowanceFile> {
  const { files, log, path } = deps;
  let records: readonly PeriodRecord[] = await readRecords(deps);
  let writing: Promise<unknown> = Promise.resolve();
  const current = (now: number) => records.filter(({ since }) => now - since < PERIOD_MS_MAX);

  async function write(record: PeriodRecord, now: number): Promise<Result<void>> {
    const others = current(now).filter(({ key, since }) =>
      key !== record.key || since !== record.since
    );
    const next = [...others, record];
    try {
      await files.write(path, `${JSON.stringify({ records: next })}\n`, { mode: 0o600 });
    } catch (thrown) {
      log.error("allowance not stored", { path, error: errorText(thrown) });
      return err(notStored(errorText(thrown)));
    }
    records = next;
    return ok(undefined);
  }

  return {
    current,
    put: async (record, now) => {
      const done = writing.then(() => write(record, now));
      writing = done;
      return await done;
    },
  };
}

async function readRecords(
  { files, log, path }: Parameters<typeof openAllowanceFile>[0],
): Promise<readonly PeriodRecord[]> {
  let text: string | undefined;
  try {
    text = await files.readText(path);
  } catch (thrown) {
    log.error("allowances not read", { path, error: errorText(thrown) });
    return [];
  }
  if (text === undefined) return [];
  const parsed = stored.safeParse(parseJsonObject(text));
  if (!parsed.success) log.error("allowances not read", { path, error: "the file is damaged" });
  return parsed.success ? parsed.data.records : [];
}

function notStored(why: string) {
  return refusal("allowance-not-stored", `Cannot allow more: the disk refused the write: ${why}`, {
    hints: ["df -h"],
  });
}
