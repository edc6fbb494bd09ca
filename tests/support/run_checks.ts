/**
 * `./dev check`: runs format, lint, types, laws and unit tests in parallel, and shows what failed.
 *
 * @module
 */

import { treeFiles } from "tests/support/module_graph.ts";
import { inputHashes, readPassed, readTreeState, writePassed } from "tests/support/test_inputs.ts";
import { TEST_GROUPS } from "tests/support/test_groups.ts";
import { places, runStep, runSteps, type Step, treeSteps } from "tests/support/tree_steps.ts";

/** The lint step for a tree that was linted before. */
const LINT_CHANGED: Step = {
  name: "lint",
  args: ["run", "-q", "-A", "--cached-only", "--no-prompt", "tests/support/lint_changed.ts"],
};

/**
 * Distributes files over `parts` steps. Each step runs its files in one isolate and has its number
 * in its name.
 */
export function testSteps(name: string, files: readonly string[], parts: number): readonly Step[] {
  const test = ["test", "-q", "-A", "--cached-only", "--no-check", "--reporter=dot"];
  return Array.from({ length: Math.min(parts, files.length) }, (_, part) => {
    const own = files.filter((_, at) => at % parts === part);
    const which = parts === 1 ? "" : ` ${part + 1}/${parts}`;
    return {
      name: `${name}${which} (${own.length} files)`,
      args: [...test, "tests/support/test_part.ts", "--", ...own],
    };
  });
}

/** Returns the steps of a quick group, without unchanged files that have passed. */
function groupSteps(name: string, files: readonly string[], isLeftOut: (file: string) => boolean) {
  // The laws check the whole tree, so they always run. They are few and fit in one step.
  if (name === "laws") return testSteps(`${name} tests`, files, 1);
  const left = files.filter((file) => !isLeftOut(file));
  const known = files.length - left.length;
  const what = known === 0 ? "" : `, ${known} left out as they have passed`;
  return testSteps(`${name} tests${what}`, left, places() - 1);
}

async function main(): Promise<number> {
  const started = performance.now();
  const say = (line: string) => console.log(line);
  const all = await treeFiles(".ts", ".tsx");
  const files = all.filter((file) => file.endsWith("_test.ts"));
  const quick = TEST_GROUPS.filter((group) => group.quick);
  const unit = files.filter((file) => quick.some(({ holds }) => holds(file)));
  const [passed, hashes] = await Promise.all([
    readPassed(),
    readTreeState(unit).then((state) => inputHashes(unit, state)),
  ]);
  const isLeftOut = (file: string) => hashes[file] === passed[file];
  const tests = quick.flatMap(({ name, holds }) =>
    groupSteps(name, files.filter(holds), isLeftOut)
  );
  const [types, ...others] = treeSteps(all).map((step) =>
    step.name === "lint" ? LINT_CHANGED : step
  );
  // Start the longest steps first.
  const steps = [...(types === undefined ? [] : [types]), ...tests.toReversed(), ...others];
  const results = await runSteps(steps, places(), (step) => runStep(step), say);
  const failed = results.filter(({ isOk }) => !isOk).map(({ name }) => name);
  const isBroken = (file: string) =>
    steps.some(({ args }, at) => results[at]?.isOk !== true && args.includes(file));
  await writePassed(Object.fromEntries(
    Object.entries(hashes).filter(([file]) => !isBroken(file)),
  ));
  const seconds = Math.round((performance.now() - started) / 1000);
  say(`${seconds} s${failed.length > 0 ? `; failed: ${failed.join(", ")}` : ""}`);
  return failed.length === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
