/**
 * `./dev test [group …]`: prepares (the only step that downloads), asks format, lint and types of the
 * whole tree, runs each group offline, and ends with `N passed, N failed[, N skipped]`. Each of the
 * three counts as a test. A skipped group counts as one and is named with its reason. Exit code 1
 * when anything failed.
 *
 * @module
 */

import { canCutNetwork, installPackages, unmet } from "tests/support/machine.ts";
import { TREE, treeFiles } from "tests/support/module_graph.ts";
import { prepareDownloads } from "tests/support/prepare.ts";
import { TEST_GROUPS, type TestGroup } from "tests/support/test_groups.ts";
import {
  denoCommand,
  places,
  runStep,
  runSteps,
  type StepResult,
  TREE_STEPS,
} from "tests/support/tree_steps.ts";

/** The steps as a group: the first one. */
const TREE_GROUP = { name: "tree", what: "format, lint and types of every file" } as const;

/** What is counted. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

function say(line: string): void {
  console.log(line);
}

/** Reads the totals of a JUnit report. */
export function readJunit(xml: string): Counts {
  const head = /<testsuites[^>]*>/.exec(xml)?.[0] ?? "";
  const number = (name: string) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(head)?.[1] ?? "0");
  const skipped = (xml.match(/<skipped\s*\/?>/g) ?? []).length;
  const failed = number("failures") + number("errors");
  return { passed: number("tests") - failed - skipped, failed, skipped };
}

/** Counts each step as one test. */
export function countSteps(results: readonly StepResult[]): Counts {
  const passed = results.filter(({ isOk }) => isOk).length;
  return { passed, failed: results.length - passed, skipped: 0 };
}

/** The last line. */
export function totalLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

async function runTree(isCut: boolean): Promise<Counts> {
  say(`\n== ${TREE_GROUP.name}: ${TREE_GROUP.what} (${TREE_STEPS.length} steps)`);
  return countSteps(await runSteps(TREE_STEPS, places(), (step) => runStep(step, { isCut }), say));
}

async function runGroup(
  group: TestGroup,
  files: readonly string[],
  isCut: boolean,
): Promise<Counts> {
  const report = `${TREE}.cache/junit-${group.name}.xml`;
  await Deno.remove(report).catch(() => {});
  const args = [
    "test",
    "-q",
    "-A",
    "--cached-only",
    "--no-check",
    `--junit-path=${report}`,
    ...files,
  ];
  const command = denoCommand(args, isCut);
  const child = new Deno.Command(command.name, {
    args: command.args,
    cwd: TREE,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  const status = await child.status;
  const xml = await Deno.readTextFile(report).catch(() => "");
  const counts = readJunit(xml);
  // A group that died before its report, or failed outside a test, is a failure all the same.
  if (!status.success && counts.failed === 0) counts.failed = 1;
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
  const started = Date.now();
  say("prepare: packages, downloads");
  await installPackages((line) => say(`  ${line}`));
  await prepareDownloads((line) => say(`  ${line}`));
  const isCut = await canCutNetwork();
  say(
    isCut
      ? "network: cut (each group runs in a network namespace with loopback only)"
      : "network: not cut (no right to a network namespace); tests run from the cache only",
  );
  const total: Counts = { passed: 0, failed: 0, skipped: 0 };
  const count = (group: string, counts: Counts) => {
    say(`== ${group}: ${counts.passed} passed, ${counts.failed} failed`);
    total.passed += counts.passed;
    total.failed += counts.failed;
    total.skipped += counts.skipped;
  };
  const all = (await treeFiles("_test.ts")).filter((file) => file.startsWith("tests/"));
  const skippedLines: string[] = [];
  const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name);
  if (isWanted(TREE_GROUP.name)) count(TREE_GROUP.name, await runTree(isCut));
  for (const group of TEST_GROUPS) {
    if (!isWanted(group.name)) continue;
    const files = all.filter((file) => group.holds(file));
    if (files.length === 0) continue;
    const reasons = (await Promise.all(group.needs.map(unmet))).filter((why) => why !== undefined);
    if (reasons.length > 0) {
      skippedLines.push(`skipped group ${group.name} (${group.what}): ${reasons.join("; ")}`);
      total.skipped += 1;
      continue;
    }
    say(`\n== ${group.name}: ${group.what} (${files.length} files)`);
    count(group.name, await runGroup(group, files, isCut));
  }
  say(`\n${Math.round((Date.now() - started) / 1000)} s`);
  for (const line of skippedLines) say(line);
  say(totalLine(total));
  return total.failed === 0 && total.passed > 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
