/**
 * `./dev check`: format, lint, types, laws and unit tests. Runs what can run side by side, shows
 * the output of what failed, and stays under a minute.
 *
 * @module
 */

import { TREE, treeFiles } from "tests/support/module_graph.ts";
import { TEST_GROUPS } from "tests/support/test_groups.ts";

interface Step {
  readonly name: string;
  readonly args: readonly string[];
}

async function run(step: Step): Promise<boolean> {
  const started = Date.now();
  const output = await new Deno.Command(Deno.execPath(), {
    args: [...step.args],
    cwd: TREE,
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  }).output();
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(`${output.success ? "ok  " : "FAIL"} ${step.name} (${seconds} s)`);
  if (!output.success) {
    const decoder = new TextDecoder();
    const text = decoder.decode(output.stdout) + decoder.decode(output.stderr);
    console.log(text.split("\n").slice(-80).map((line) => `  ${line}`).join("\n"));
  }
  return output.success;
}

const all = (await treeFiles(".ts", ".tsx")).filter((file) => !file.startsWith("tests/golden/"));
const quick = all.filter((file) =>
  file.endsWith("_test.ts") &&
  TEST_GROUPS.some((group) => group.quick && group.holds(file))
);
const results = [
  await run({ name: "format", args: ["fmt", "-q", "--check"] }),
  await run({ name: "lint", args: ["lint", "-q", ...all] }),
  await run({ name: "types", args: ["check", "-q", ...all] }),
  await run({
    name: `laws and unit tests (${quick.length} files)`,
    args: ["test", "-q", "-A", "--cached-only", "--no-check", "--parallel", ...quick],
  }),
];
Deno.exit(results.every(Boolean) ? 0 : 1);
