/**
 * Tests the steps that every change passes. Each refuses its kind of fault. They run in parallel
 * within their places, and failures are shown.
 *
 * @module
 */

import assert from "node:assert/strict";
import { filesToLint } from "tests/support/lint_changed.ts";
import {
  runStep,
  runSteps,
  type Step,
  stepLines,
  type StepResult,
  treeSteps,
} from "tests/support/tree_steps.ts";

/** A file that every step refuses. */
const FAULTY = "var   a: number = 'x'\n";
const SAID: Readonly<Record<string, RegExp>> = {
  types: /Type 'string' is not assignable to type 'number'/,
  lint: /no-var/,
  format: /Found 1 not formatted file/,
};

Deno.test("each step refuses a faulty file, even though no list names the file", async () => {
  const folder = await Deno.makeTempDir({ prefix: "fleetctl-steps-" });
  try {
    await Deno.writeTextFile(`${folder}/deno.json`, "{}\n");
    await Deno.writeTextFile(`${folder}/new.ts`, FAULTY);
    for (const step of treeSteps(["new.ts"])) {
      const { isOk, output } = await runStep(step, { folder });
      assert.equal(isOk, false, step.name);
      assert.match(output, SAID[step.name] ?? /^$/, step.name);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("treeSteps() checks the types of every folder but the benches", () => {
  const files = ["core/a/b.ts", "dev", "gateway/web/c.tsx", "tests/bench/d.ts", "tests/fakes/e.ts"];
  assert.deepEqual(treeSteps([...files, "tests/a_test.ts", "core/f.ts"])[0]?.args.slice(3), [
    "core",
    "gateway",
    "tests/fakes",
    "tests/a_test.ts",
  ]);
});

Deno.test("filesToLint() names files that are new or changed since they passed", () => {
  const known = { files: { "a.ts": "1", "b.ts": "2", "gone.ts": "3" } };
  assert.deepEqual(filesToLint(known, { "a.ts": "1", "b.ts": "9", "new.ts": "4" }), [
    "b.ts",
    "new.ts",
  ]);
});

function ended(name: string, isOk = true, output = ""): StepResult {
  return { name, isOk, seconds: 1.25, output };
}

Deno.test("runSteps() starts steps in order, fills its slots, and reports each end", async () => {
  const events: string[] = [];
  const ends = new Map<string, (result: StepResult) => void>();
  const steps: readonly Step[] = ["a", "b", "c"].map((name) => ({ name, args: [] }));
  const all = runSteps(
    steps,
    2,
    ({ name }) => {
      events.push(`begin ${name}`);
      return new Promise((resolve) => ends.set(name, resolve));
    },
    (line) => events.push(line),
  );
  ends.get("b")?.(ended("b"));
  while (!ends.has("c")) await Promise.resolve();
  ends.get("c")?.(ended("c", false, "broken\n"));
  ends.get("a")?.(ended("a"));
  assert.deepEqual((await all).map(({ name, isOk }) => [name, isOk]), [
    ["a", true],
    ["b", true],
    ["c", false],
  ]);
  assert.deepEqual(events, [
    "begin a",
    "begin b",
    "ok   b (1.3 s)",
    "begin c",
    "FAIL c (1.3 s)",
    "  broken",
    "ok   a (1.3 s)",
  ]);
});

Deno.test("stepLines() shows the last output of a failed step, without dots", () => {
  assert.deepEqual(stepLines(ended("lint", true, "checked")), ["ok   lint (1.3 s)"]);
  const many = Array.from({ length: 300 }, (_, at) => `.\nline ${at}\n`).join("");
  const lines = stepLines(ended("lint", false, many));
  assert.deepEqual(lines.slice(0, 3), ["FAIL lint (1.3 s)", "  … 100 lines before", "  line 100"]);
  assert.equal(lines.at(-1), "  line 299");
});
