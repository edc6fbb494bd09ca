/**
 * The jobs that hosts were given, as long as this gateway lives: which run, how the last ones
 * ended, and what their verbs printed. It keeps a bounded number of them and never runs one: that
 * is the desk's (`gateway/hosts/desk.ts`).
 *
 * @module
 */

import type { HostJobName } from "core/dial/host_job.ts";
import type { Refusal } from "core/errors.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Result } from "core/result.ts";

/** Pages are told no faster than this where a job stands. */
export const PROGRESS_MS = 250;

/** How the verb of a job ended. */
export interface JobOutcome {
  readonly exit: number;
  /** The JSON document that it printed; null for one that printed none. */
  readonly report: unknown;
}

/** A job as the cockpit shows it; times in milliseconds since the epoch. */
export interface JobCard {
  readonly id: string;
  readonly host: string;
  readonly job: HostJobName;
  readonly agent: string | null;
  /** Who asked for it. */
  readonly by: string;
  readonly begun: number;
  /** Null while it runs. */
  readonly ended: number | null;
  /**
   * What its verb said last of where it stands; null when it said nothing, and when it has ended.
   */
  readonly progress: string | null;
  /** Exit code of the verb; null while it runs, and for one whose end is not known. */
  readonly exit: number | null;
  /** Why there is no exit code. */
  readonly code: string | null;
  readonly message: string | null;
  readonly hints: readonly string[];
}

/** A job with what its verb printed. */
export type JobEntry = JobCard & { readonly report: unknown };

/** Writing jobs down and reading them. */
export interface JobBook {
  begin(job: Pick<JobCard, "id" | "host" | "job" | "agent" | "by">): JobCard;
  /** Notes where a job stands; the pages are told no faster than they can show it. */
  note(id: string, text: string): void;
  end(id: string, outcome: Result<JobOutcome>): void;
  /** Jobs of a host, newest first. */
  of(host: string): readonly JobEntry[];
}

/** Opens an empty book; `onChange` is told whose jobs have changed. */
export function openJobBook(
  clock: Pick<Clock, "now" | "after">,
  onChange: (host: string) => void,
): JobBook {
  // In the order in which they began.
  const entries = new Map<string, JobEntry>();
  /** Jobs whose last note was told a moment ago. */
  const told = new Set<string>();
  return {
    begin: (job) => {
      const begun = clock.now();
      const card: JobCard = {
        ...job,
        begun,
        ended: null,
        progress: null,
        exit: null,
        code: null,
        message: null,
        hints: [],
      };
      entries.set(job.id, { ...card, report: null });
      forget(entries, job.host);
      onChange(job.host);
      return card;
    },
    note: (id, text) => {
      const entry = entries.get(id);
      if (entry === undefined || entry.ended !== null) return;
      entries.set(id, { ...entry, progress: text });
      if (told.has(id)) return;
      told.add(id);
      onChange(entry.host);
      clock.after(PROGRESS_MS, () => {
        told.delete(id);
        const now = entries.get(id);
        if (now?.ended === null && now.progress !== text) onChange(entry.host);
      });
    },
    end: (id, outcome) => {
      const entry = entries.get(id);
      if (entry === undefined) return;
      entries.set(id, {
        ...entry,
        ended: clock.now(),
        progress: null,
        ...(outcome.ok
          ? { exit: outcome.value.exit, report: outcome.value.report }
          : failure(outcome.error)),
      });
      dropReports(entries);
      onChange(entry.host);
    },
    of: (host) => [...entries.values()].filter((entry) => entry.host === host).reverse(),
  };
}

/** Takes what a list has no room for: the reports. */
export function cardOf({ report: _, ...card }: JobEntry): JobCard {
  return card;
}

function failure({ code, message, hints }: Refusal) {
  return { code, message, hints };
}

/** Lets go of the oldest ended jobs of a host; those that run are bounded by the desk. */
function forget(entries: Map<string, JobEntry>, host: string): void {
  const ended = [...entries.values()].filter((one) => one.host === host && one.ended !== null);
  const excess = ended.length - DIAL_LIMITS.jobsKeptPerHost;
  for (const { id } of ended.slice(0, Math.max(0, excess))) entries.delete(id);
}

/** A report may be large: only the newest ones of the gateway are kept. */
function dropReports(entries: Map<string, JobEntry>): void {
  const held = [...entries.values()].filter(({ report }) => report !== null);
  for (const entry of held.slice(0, Math.max(0, held.length - DIAL_LIMITS.jobReportsKept))) {
    entries.set(entry.id, { ...entry, report: null });
  }
}
