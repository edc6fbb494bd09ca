/**
 * `./dev test [group …]`: prepares what the groups need (the only step that downloads). It then
 * runs format, lint, types and the test files offline, as parallel jobs. A job prints one line when
 * it ends, and its output when it failed. The run ends with a line for each group and with `N
 * passed, N failed[, N skipped]`. A skipped group counts as one and is listed with its reason. The
 * exit code is 1 when anything failed.
 *
 * @module
 */

import { canCutNetwork, installPackages, type MachineNeed, unmet } from "tests/support/machine.ts";
import { TREE, treeFiles } from "tests/support/module_graph.ts";
import { openPreparations } from "tests/support/prepare.ts";
import { SLOW_FILES } from "tests/support/slow_files.ts";
import { TEST_GROUPS, type TestGroup } from "tests/support/test_groups.ts";
import { countJob, type Counts, failureText, totalLine } from "tests/support/test_counts.ts";
import { groupJobs, type Job, runJobs } from "tests/support/test_jobs.ts";
import { denoCommand, places, treeSteps } from "tests/support/tree_steps.ts";

/** The group of format, lint and types, which runs first. */
const TREE_GROUP = { name: "tree", what: "format, lint and types of every file" } as const;
/** These groups start first, because most changes break them. */
const FIRST_GROUPS = [TREE_GROUP.name, "laws", "unit"];
/** Folder for the reports and outputs of the jobs; kept until the next run. */
const LOGS = `${TREE}.cache/test`;
/** A job that takes longer is considered hung and is ended. */
const JOB_MINUTES_MAX = 20;

/** A job with its command. */
interface RunJob extends Job {
  /** Arguments of Deno. */
  readonly args: readonly string[];
  /** Path of its JUnit report. A step has none and counts as one test. */
  readonly report?: string;
  readonly log: string;
}

function say(line: string): void {
  console.log(line);
}

function treeJobs(files: readonly string[]): readonly RunJob[] {
  return treeSteps(files).map(({ name, args }) => ({
    group: TREE_GROUP.name,
    name,
    args,
    files: [],
    uses: [],
    // The type check takes longest, and other results mean little when types are wrong.
    seconds: name === "types" ? 60 : 10,
    log: `${LOGS}/${TREE_GROUP.name}/${name}.log`,
  }));
}

function testJobs(group: TestGroup, all: readonly string[]): readonly RunJob[] {
  const files = all.filter((file) => group.holds(file));
  return groupJobs(group, files, SLOW_FILES).map((job, at) => {
    const report = `${LOGS}/${group.name}/${at}.xml`;
    const test = ["test", "-q", "-A", "--cached-only", "--no-check", `--junit-path=${report}`];
    return {
      ...job,
      report,
      log: `${LOGS}/${group.name}/${at}.log`,
      args: [...test, ...job.files],
    };
  });
}

/**
 * Writes both streams to one file, in order. A program that outlives the job then keeps no pipe
 * open.
 */
const LOGGED = 'log=$1; shift; exec "$@" >"$log" 2>&1';

/** Runs a job until it ends and returns its counts. */
async function runJob(job: RunJob, isCut: boolean): Promise<Counts> {
  const started = performance.now();
  const command = denoCommand(job.args, isCut);
  const child = new Deno.Command("sh", {
    args: ["-c", LOGGED, "sh", job.log, command.name, ...command.args],
    cwd: TREE,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    child.kill("SIGTERM");
  }, JOB_MINUTES_MAX * 60_000);
  const { success } = await child.status;
  clearTimeout(late);
  const xml = job.report === undefined
    ? undefined
    : await Deno.readTextFile(job.report).catch(() => "");
  const counts = countJob(success, xml);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const tests = job.report === undefined ? "" : `${totalLine(counts)}, `;
  const mark = counts.failed === 0 ? "ok  " : "FAIL";
  say(`${mark} ${job.group}: ${job.name} (${tests}${seconds} s)`);
  if (counts.failed > 0) {
    say(failureText(await Deno.readTextFile(job.log).catch(() => "")));
    if (isLate) say(`ended after ${JOB_MINUTES_MAX} minutes`);
    say(`---- end of ${job.group}: ${job.name}; its output is ${job.log.slice(TREE.length)}`);
  }
  return counts;
}

/** Checks each need once, all in parallel. */
async function unmetNeeds(
  groups: readonly TestGroup[],
): Promise<ReadonlyMap<MachineNeed, string | undefined>> {
  const needs = [...new Set(groups.flatMap((group) => group.needs))];
  return new Map(await Promise.all(needs.map(async (need) => [need, await unmet(need)] as const)));
}

/**
 * Waits for a group's preparations. Returns the error message of a failed one, otherwise undefined.
 */
async function prepareGroup(
  group: TestGroup | undefined,
  prepare: ReturnType<typeof openPreparations>,
): Promise<string | undefined> {
  try {
    await Promise.all((group?.prepares ?? []).map(prepare));
    return undefined;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

/** Runs the jobs and returns the counts of each group. */
async function runAll(
  jobs: readonly RunJob[],
  groups: readonly TestGroup[],
  isCut: boolean,
): Promise<ReadonlyMap<string, Counts>> {
  const prepare = openPreparations((line) => say(`prepare: ${line}`));
  const counts = new Map<string, Counts>();
  const broken = new Map<string, string>();
  const add = (name: string, more: Counts) => {
    const sum = counts.get(name) ?? { passed: 0, failed: 0, skipped: 0 };
    sum.passed += more.passed;
    sum.failed += more.failed;
    sum.skipped += more.skipped;
    counts.set(name, sum);
  };
  await runJobs(jobs, FIRST_GROUPS, {
    places: places(),
    ready: async ({ group }) => {
      const why = await prepareGroup(groups.find(({ name }) => name === group), prepare);
      if (why !== undefined) broken.set(group, why);
    },
    run: async (job) => {
      const why = broken.get(job.group);
      if (why === undefined) return add(job.group, await runJob(job, isCut));
      say(`FAIL ${job.group}: ${job.name}: Cannot prepare it: ${why}`);
      add(job.group, { passed: 0, failed: 1, skipped: 0 });
    },
  });
  return counts;
}

async function main(): Promise<number> {
  const wanted = Deno.args;
  const known = [TREE_GROUP.name, ...TEST_GROUPS.map((group) => group.name)];
  const unknown = wanted.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(`dev: Cannot test "${unknown[0]}": the groups are ${known.join(", ")}`);
    return 2;
  }
  const started = performance.now();
  await installPackages((line) => say(`prepare: ${line}`));
  const isCut = await canCutNetwork();
  say(
    isCut
      ? "network: cut (each process runs in a network namespace with loopback only)"
      : "network: not cut (no right to a network namespace); tests run from the cache only",
  );
  const code = await treeFiles(".ts", ".tsx");
  const all = code.filter((file) => /^tests\/.*_test\.ts$/.test(file));
  const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name);
  const asked = TEST_GROUPS.filter(({ name, holds }) => isWanted(name) && all.some(holds));
  const needs = await unmetNeeds(asked);
  const skippedLines: string[] = [];
  const groups = asked.filter((group) => {
    const reasons = group.needs.map((need) => needs.get(need)).filter((why) => why !== undefined);
    if (reasons.length === 0) return true;
    skippedLines.push(`skipped group ${group.name} (${group.what}): ${reasons.join("; ")}`);
    return false;
  });
  const jobs = [
    ...(isWanted(TREE_GROUP.name) ? treeJobs(code) : []),
    ...groups.flatMap((group) => testJobs(group, all)),
  ];
  for (const group of new Set(jobs.map((job) => job.group))) {
    await Deno.remove(`${LOGS}/${group}`, { recursive: true }).catch(() => {});
    await Deno.mkdir(`${LOGS}/${group}`, { recursive: true });
  }
  say(`${jobs.length} jobs of ${new Set(jobs.map(({ group }) => group)).size} groups`);
  const counts = await runAll(jobs, groups, isCut);
  const total: Counts = { passed: 0, failed: 0, skipped: skippedLines.length };
  say("");
  for (const { name, what } of [TREE_GROUP, ...groups]) {
    const count = counts.get(name);
    if (count === undefined) continue;
    say(`== ${name}: ${totalLine(count)} (${what})`);
    total.passed += count.passed;
    total.failed += count.failed;
    total.skipped += count.skipped;
  }
  say(`${Math.round((performance.now() - started) / 1000)} s`);
  for (const line of skippedLines) say(line);
  say(totalLine(total));
  return total.failed === 0 && total.passed > 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
