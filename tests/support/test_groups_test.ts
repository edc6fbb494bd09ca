/**
 * Every test file belongs to exactly one group, and the report reader counts what it must.
 *
 * @module
 */

import assert from "node:assert/strict";
import { countSteps, readJunit, totalLine } from "tests/support/run_tests.ts";
import { testSteps } from "tests/support/run_checks.ts";
import { treeFiles } from "tests/support/module_graph.ts";
import { TEST_GROUPS } from "tests/support/test_groups.ts";

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

Deno.test("a step that fails is one failure of the last line, and a good one is one that passed", () => {
  const step = { name: "types", seconds: 1, output: "" };
  const counts = countSteps([{ ...step, isOk: true }, { ...step, isOk: false }]);
  assert.deepEqual(counts, { passed: 1, failed: 1, skipped: 0 });
  assert.equal(totalLine(counts), "1 passed, 1 failed");
  assert.equal(totalLine({ ...counts, failed: 0, skipped: 2 }), "1 passed, 0 failed, 2 skipped");
});

Deno.test("testSteps() deals every file to exactly one part, and makes no empty one", () => {
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
