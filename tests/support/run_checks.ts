/**
 * `./dev check`: format, lint, types, laws and unit tests, side by side; shows what failed.
 *
 * @module
 */

import { treeFiles } from "tests/support/module_graph.ts";
import { TEST_GROUPS } from "tests/support/test_groups.ts";
import { places, runStep, runSteps, type Step, TREE_STEPS } from "tests/support/tree_steps.ts";

/** Deals files out to so many steps; each runs its own in one isolate, and is named with its number. */
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

async function main(): Promise<number> {
  const started = performance.now();
  const say = (line: string) => console.log(line);
  const files = await treeFiles("_test.ts");
  const tests = TEST_GROUPS.filter(({ quick }) => quick).flatMap(({ name, holds }) =>
    // Laws are few; they are one part.
    testSteps(`${name} tests`, files.filter(holds), name === "laws" ? 1 : places() - 1)
  );
  // What takes longest begins first.
  const [types, ...others] = TREE_STEPS;
  const steps = [...(types === undefined ? [] : [types]), ...tests.toReversed(), ...others];
  const results = await runSteps(steps, places(), (step) => runStep(step), say);
  const failed = results.filter(({ isOk }) => !isOk).map(({ name }) => name);
  const seconds = Math.round((performance.now() - started) / 1000);
  say(`${seconds} s${failed.length > 0 ? `; failed: ${failed.join(", ")}` : ""}`);
  return failed.length === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
