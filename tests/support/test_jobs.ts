/**
 * The jobs of a test run: which files share a process, and which jobs run in parallel. A job is one
 * process. The longest start first, and each resource has a limited number of places. This module
 * only decides; `run` starts the programs. ADR 0027 explains why this is not a library.
 *
 * @module
 */

import { type Resource, RESOURCE_PLACES, type TestGroup } from "tests/support/test_groups.ts";

/** The work of one process. */
export interface Job {
  readonly group: string;
  readonly name: string;
  /** Test files; empty for a step that checks the whole tree. */
  readonly files: readonly string[];
  /** Estimated duration in seconds; it only decides the order. */
  readonly seconds: number;
  readonly uses: readonly Resource[];
}

/** Estimated duration of a file that is not in the table of slow files. */
const SECONDS_USUAL = 1;

/** Creates the jobs of a group: a process for each slow file, and one for each batch of others. */
export function groupJobs(
  { name: group, batch, uses }: Pick<TestGroup, "name" | "batch" | "uses">,
  files: readonly string[],
  slow: Readonly<Record<string, number>>,
): readonly Job[] {
  const own = files.filter((file) => Object.hasOwn(slow, file));
  const quick = files.filter((file) => !Object.hasOwn(slow, file));
  const batches = Array.from(
    { length: Math.ceil(quick.length / batch) },
    (_, at) => quick.slice(at * batch, (at + 1) * batch),
  );
  return [...own.map((file) => [file]), ...batches].map((part) => ({
    group,
    uses,
    files: part,
    name: part.length === 1 ? part[0] ?? "" : `${part[0]} … ${part.at(-1)} (${part.length} files)`,
    seconds: part.reduce((sum, file) => sum + (slow[file] ?? SECONDS_USUAL), 0),
  }));
}

/** Options of a run. */
export interface JobRun<J extends Job> {
  /** Maximum number of jobs that run in parallel, whatever they use. */
  readonly places: number;
  /** Resolves when a job's group may start. A job that waits for this takes no place. */
  readonly ready: (job: J) => Promise<void>;
  readonly run: (job: J) => Promise<void>;
}

/**
 * Orders jobs: first the `first` groups, then by the least duration of the run that each job
 * causes.
 */
function inOrder<J extends Job>(jobs: readonly J[], first: readonly string[]): J[] {
  const rank = (job: Job) => first.includes(job.group) ? 0 : 1;
  // Jobs that share a resource take at least their total time divided by its places.
  const lane = (used: Resource) =>
    jobs.filter(({ uses }) => uses.includes(used)).reduce((sum, { seconds }) => sum + seconds, 0) /
    RESOURCE_PLACES[used];
  const weight = (job: Job) => Math.max(job.seconds, ...job.uses.map(lane));
  return jobs.toSorted((a, b) =>
    rank(a) - rank(b) || weight(b) - weight(a) || b.seconds - a.seconds
  );
}

/**
 * Runs all jobs. Jobs of `first` groups start before others, the longest of each part first.
 * `ready` and `run` must not reject.
 */
export async function runJobs<J extends Job>(
  jobs: readonly J[],
  first: readonly string[],
  { places, ready, run }: JobRun<J>,
): Promise<void> {
  const waiting = inOrder(jobs, first);
  const isReady = new Set<string>();
  const running = new Set<J>();
  const done = Promise.withResolvers<void>();
  const isFree = (job: J) =>
    isReady.has(job.group) &&
    job.uses.every((used) =>
      [...running].filter(({ uses }) => uses.includes(used)).length < RESOURCE_PLACES[used]
    );
  const fill = () => {
    while (running.size < places) {
      const at = waiting.findIndex(isFree);
      const [job] = at < 0 ? [] : waiting.splice(at, 1);
      if (job === undefined) break;
      running.add(job);
      void run(job).then(() => {
        running.delete(job);
        fill();
      });
    }
    if (running.size === 0 && waiting.length === 0) done.resolve();
  };
  for (const group of new Set(jobs.map((job) => job.group))) {
    const job = jobs.find((job) => job.group === group);
    if (job === undefined) continue;
    void ready(job).then(() => {
      isReady.add(group);
      fill();
    });
  }
  fill();
  await done.promise;
}
