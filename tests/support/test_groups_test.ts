/**
 * Checks that every test file belongs to exactly one group and one job, and that jobs are counted
 * and scheduled correctly.
 *
 * @module
 */

import assert from "node:assert/strict";
import { countJob, failureText, readJunit, totalLine } from "tests/support/test_counts.ts";
import { testSteps } from "tests/support/run_checks.ts";
import { treeFiles } from "tests/support/module_graph.ts";
import { SLOW_FILES } from "tests/support/slow_files.ts";
import { type Resource, RESOURCE_PLACES, TEST_GROUPS } from "tests/support/test_groups.ts";
import { groupJobs, type Job, runJobs } from "tests/support/test_jobs.ts";

Deno.test("every test file belongs to exactly one group", async () => {
  const wrong: string[] = [];
  for (const file of await treeFiles("_test.ts")) {
    const groups = TEST_GROUPS.filter((group) => group.holds(file)).map((group) => group.name);
    if (groups.length !== 1) wrong.push(`${file}: ${groups.join(", ") || "no group"}`);
  }
  assert.deepEqual(wrong, []);
});

Deno.test("readJunit() counts passed, failed and skipped tests", () => {
  const xml =
    `<?xml version="1.0"?><testsuites name="deno test" tests="4" failures="1" errors="0" ` +
    `time="1"><testsuite><testcase name="a"><skipped/></testcase></testsuite></testsuites>`;
  assert.deepEqual(readJunit(xml), { passed: 2, failed: 1, skipped: 1 });
});

const report = (tests: number, failures: number) =>
  `<testsuites tests="${tests}" failures="${failures}" errors="0"></testsuites>`;

Deno.test("countJob() counts a failure for a failed step and for a silent job", () => {
  assert.deepEqual(countJob(true, undefined), { passed: 1, failed: 0, skipped: 0 });
  assert.deepEqual(countJob(false, undefined), { passed: 0, failed: 1, skipped: 0 });
  assert.deepEqual(countJob(true, report(3, 0)), { passed: 3, failed: 0, skipped: 0 });
  assert.deepEqual(countJob(false, report(3, 1)), { passed: 2, failed: 1, skipped: 0 });
  // Failed outside a test; died before its report; ran no test.
  assert.deepEqual(countJob(false, report(3, 0)), { passed: 3, failed: 1, skipped: 0 });
  assert.deepEqual(countJob(false, ""), { passed: 0, failed: 1, skipped: 0 });
  assert.deepEqual(countJob(true, report(0, 0)), { passed: 0, failed: 1, skipped: 0 });
});

Deno.test("totalLine() names skipped tests where there are some", () => {
  assert.equal(totalLine({ passed: 1, failed: 1, skipped: 0 }), "1 passed, 1 failed");
  assert.equal(totalLine({ passed: 1, failed: 0, skipped: 2 }), "1 passed, 0 failed, 2 skipped");
});

Deno.test("failureText() leaves out what passed, and nothing else", () => {
  const output = "running 2 tests from ./a_test.ts\na ... ok (1ms)\nb ...\n  step ... ok (2s)\n" +
    "  step ... FAILED (due to 1 failed step) (3ms)\n\nerror: it said ... ok\n";
  assert.equal(
    failureText(output),
    "b ...\n  step ... FAILED (due to 1 failed step) (3ms)\n\nerror: it said ... ok",
  );
});

Deno.test("every test file is in exactly one job, and every slow file exists", async () => {
  const files = await treeFiles("_test.ts");
  const inJobs = TEST_GROUPS.flatMap((group) =>
    groupJobs(group, files.filter(group.holds), SLOW_FILES).flatMap((job) => job.files)
  );
  assert.deepEqual(inJobs.toSorted(), files);
  assert.deepEqual(Object.keys(SLOW_FILES).filter((file) => !files.includes(file)), []);
});

Deno.test("groupJobs() gives a slow file its own process, and batches the others", () => {
  const group = { name: "g", batch: 2, uses: ["hosts"] } as const;
  assert.deepEqual(
    groupJobs(group, ["a", "b", "c", "d"], { c: 9 }).map((
      { name, files, seconds },
    ) => [name, files, seconds]),
    [["c", ["c"], 9], ["a … b (2 files)", ["a", "b"], 2], ["d", ["d"], 1]],
  );
});

/** Runs jobs that end on demand; `begun` lists their names in order. */
function heldJobs(places: number, jobs: readonly Job[], first: readonly string[] = []) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ready = new Map<string, () => void>();
  const all = runJobs(jobs, first, {
    places,
    ready: ({ group }) => new Promise((resolve) => ready.set(group, resolve)),
    run: ({ name }) => {
      begun.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    },
  });
  const turn = () => new Promise((resolve) => setTimeout(resolve));
  const end = async (name: string) => (ends.get(name)?.(), await turn());
  const prepared = async (group: string) => (ready.get(group)?.(), await turn());
  return { all, begun, end, prepared };
}

function job(name: string, seconds: number, uses: readonly Resource[] = [], group = "g"): Job {
  return { name, seconds, uses, group, files: [name] };
}

Deno.test("runJobs() starts the first groups, then the longest, within its slots", async () => {
  const jobs = [job("short", 1), job("long", 9), job("law", 1, [], "laws")];
  const { all, begun, end, prepared } = heldJobs(2, jobs, ["laws"]);
  await prepared("laws");
  await prepared("g");
  assert.deepEqual(begun, ["law", "long"]);
  await end("long");
  assert.deepEqual(begun, ["law", "long", "short"]);
  await end("law");
  await end("short");
  await all;
});

Deno.test("runJobs() limits the jobs that use a resource, and fills the other slots", async () => {
  const count = RESOURCE_PLACES.browser;
  const pages = Array.from({ length: count + 1 }, (_, at) => job(`page${at}`, 9, ["browser"]));
  const { all, begun, end, prepared } = heldJobs(count + 2, [...pages, job("other", 1)]);
  await prepared("g");
  assert.deepEqual(begun, [...pages.slice(0, count).map(({ name }) => name), "other"]);
  await end("page0");
  assert.equal(begun.at(-1), `page${count}`);
  for (const { name } of [...pages, { name: "other" }]) await end(name);
  await all;
});

Deno.test("runJobs() starts jobs that wait for each other before a longer one", async () => {
  const pages = ["page0", "page1", "page2"].map((name) => job(name, 4, ["browser"]));
  const { all, begun, end, prepared } = heldJobs(1, [job("other", 9), ...pages]);
  await prepared("g");
  for (const { name } of pages) await end(name);
  await end("other");
  await all;
  assert.deepEqual(begun, ["page0", "page1", "page2", "other"]);
});

Deno.test("runJobs() starts no job of a group that is not ready, but others", async () => {
  const jobs = [job("late", 9, [], "slow"), job("now", 1)];
  const { all, begun, end, prepared } = heldJobs(1, jobs);
  await prepared("g");
  assert.deepEqual(begun, ["now"]);
  await end("now");
  await prepared("slow");
  assert.deepEqual(begun, ["now", "late"]);
  await end("late");
  await all;
});

Deno.test("testSteps() assigns every file to exactly one part, and no part is empty", () => {
  const own = (parts: number, ...files: readonly string[]) =>
    testSteps("unit tests", files, parts).map(({ name, args }) => [
      name,
      ...args.slice(args.indexOf("--") + 1),
    ]);
  assert.deepEqual(own(2, "a", "b", "c"), [
    ["unit tests 1/2 (2 files)", "a", "c"],
    ["unit tests 2/2 (1 files)", "b"],
  ]);
  assert.deepEqual(own(1, "a"), [["unit tests (1 files)", "a"]]);
  assert.equal(own(4, "a", "b").length, 2);
});
