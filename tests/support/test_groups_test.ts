/**
 * Every test file belongs to exactly one group, and the report reader counts what it must.
 *
 * @module
 */

import assert from "node:assert/strict";
import { readJunit } from "tests/support/run_tests.ts";
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
