/**
 * The store of hosts' jobs, in memory: running jobs, the last results, and the output of their
 * verbs. It keeps a limited number of them; `gateway/hosts/host_registry.ts` runs them.
 *
 * @module
 */

import type { HostJobName } from "core/dial/host_job.ts";
import type { Refusal } from "core/errors.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Result } from "core/result.ts";

/** Shortest interval between progress updates to pages. */
export const PROGRESS_MS = 250;

/** Result of a job's verb. */
export interface JobOutcome {
  readonly exit: number;
  /** The JSON document that it printed; null if none. */
  readonly report: unknown;
}

/** A job as the cockpit shows it; times in milliseconds since the epoch. */
export interface JobCard {
  readonly id: string;
  readonly host: string;
  readonly job: HostJobName;
  readonly agent: string | null;
  /** The requester. */
  readonly by: string;
  readonly begun: number;
  /** Null while it runs. */
  readonly ended: number | null;
  /** Last progress text of its verb; null without one, and after the end. */
  readonly progress: string | null;
  /** Exit code of the verb; null while it runs, and when the result is unknown. */
  readonly exit: number | null;
  /** Why there is no exit code. */
  readonly code: string | null;
  readonly message: string | null;
  readonly hints: readonly string[];
}

/** A job with its verb's output. */
export type JobEntry = JobCard & { readonly report: unknown };

/** Records jobs and reads them. */
export interface JobStore {
  begin(job: Pick<JobCard, "id" | "host" | "job" | "agent" | "by">): JobCard;
  /** Records progress. Updates to pages are rate limited. */
  note(id: string, text: string): void;
  end(id: string, outcome: Result<JobOutcome>): void;
  /** Jobs of a host, newest first. */
  of(host: string): readonly JobEntry[];
}

/** Opens an empty store. `onChange` gets the name of a host whose jobs changed. */
export function openJobStore(
  clock: Pick<Clock, "now" | "after">,
  onChange: (host: string) => void,
): JobStore {
  // In the order of their start.
  const entries = new Map<string, JobEntry>();
  /** Jobs whose progress was published less than the interval ago. */
  const reported = new Set<string>();
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
      if (reported.has(id)) return;
      reported.add(id);
      onChange(entry.host);
      clock.after(PROGRESS_MS, () => {
        reported.delete(id);
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

/** Removes the report, which is too large for a list. */
export function cardOf({ report: _, ...card }: JobEntry): JobCard {
  return card;
}

function failure({ code, message, hints }: Refusal) {
  return { code, message, hints };
}

/** Deletes the oldest ended jobs of a host. The registry limits the running ones. */
function forget(entries: Map<string, JobEntry>, host: string): void {
  const ended = [...entries.values()].filter((one) => one.host === host && one.ended !== null);
  const excess = ended.length - DIAL_LIMITS.jobsKeptPerHost;
  for (const { id } of ended.slice(0, Math.max(0, excess))) entries.delete(id);
}

/** Reports may be large: the gateway keeps only the newest ones. */
function dropReports(entries: Map<string, JobEntry>): void {
  const held = [...entries.values()].filter(({ report }) => report !== null);
  for (const entry of held.slice(0, Math.max(0, held.length - DIAL_LIMITS.jobReportsKept))) {
    entries.set(entry.id, { ...entry, report: null });
  }
}
