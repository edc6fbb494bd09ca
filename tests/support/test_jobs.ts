/**
 * The jobs of a test run: which files share a process, and which jobs run side by side. A job is
 * one process; the longest begin first, and no resource is used by more jobs than it has places
 * for. Decisions only: `run` starts the programs. Why it is our own: ADR 0027.
 *
 * @module
 */

import { type Resource, RESOURCE_PLACES, type TestGroup } from "tests/support/test_groups.ts";

/** What one process does. */
export interface Job {
  readonly group: string;
  readonly name: string;
  /** Test files; none for a step that asks the whole tree. */
  readonly files: readonly string[];
  /** About how long it takes; decides the order and nothing else. */
  readonly seconds: number;
  readonly uses: readonly Resource[];
}

/** A file that is not in the table of slow files takes about so long. */
const SECONDS_USUAL = 1;

/** Makes the jobs of a group: a process for each slow file, and one for each batch of others. */
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

/** What a run of jobs needs. */
export interface JobRun<J extends Job> {
  /** Jobs that run side by side, whatever they use. */
  readonly places: number;
  /** Resolves when a job's group may begin. A job that waits for it takes no place. */
  readonly ready: (job: J) => Promise<void>;
  readonly run: (job: J) => Promise<void>;
}

/**
 * Orders jobs: those of `first` groups, then by how long the run lasts at least because of them.
 */
function inOrder<J extends Job>(jobs: readonly J[], first: readonly string[]): J[] {
  const rank = (job: Job) => first.includes(job.group) ? 0 : 1;
  // Jobs that share few places take as long as all of them together.
  const lane = (used: Resource) =>
    jobs.filter(({ uses }) => uses.includes(used)).reduce((sum, { seconds }) => sum + seconds, 0) /
    RESOURCE_PLACES[used];
  const weight = (job: Job) => Math.max(job.seconds, ...job.uses.map(lane));
  return jobs.toSorted((a, b) =>
    rank(a) - rank(b) || weight(b) - weight(a) || b.seconds - a.seconds
  );
}

/**
 * Runs all jobs. Jobs of `first` groups begin before others, the longest of each part first.
 * Neither `ready` nor `run` may reject.
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
