/**
 * The checks of the whole tree that precede its tests (format, lint, types), and a runner for such
 * steps. `./dev check` and `./dev test` share this list, so both accept the same code. No
 * downloads.
 *
 * @module
 */

import { TREE } from "tests/support/module_graph.ts";

/** One run of Deno. */
export interface Step {
  readonly name: string;
  readonly args: readonly string[];
}

/** The result of a step. */
export interface StepResult {
  readonly name: string;
  readonly isOk: boolean;
  readonly seconds: number;
  /** What it wrote, standard output first. */
  readonly output: string;
}

/** Returns the steps for a tree with these files. */
export function treeSteps(files: readonly string[]): readonly Step[] {
  return [
    { name: "types", args: ["check", "-q", "--cached-only", ...typeRoots(files)] },
    { name: "lint", args: ["lint", "-q"] },
    { name: "format", args: ["fmt", "-q", "--check"] },
  ];
}

/** Folders whose types are checked: all but the benches, which `./dev bench` checks itself. */
function typeRoots(files: readonly string[]): readonly string[] {
  const code = files.filter((file) => /\.tsx?$/.test(file) && !file.startsWith("tests/bench/"));
  const rootOf = (file: string) => file.split("/").slice(0, file.startsWith("tests/") ? 2 : 1);
  return [...new Set(code.map((file) => rootOf(file).join("/")))];
}

/** Lines shown of a failed step. The errors are at the end of Deno's output. */
const SHOWN_LINES = 200;
/** One finished test in the output of the dot reporter. */
const DOT = /^[.,!]$/;

/** Returns the command that runs Deno; without a network when requested and possible. */
export function denoCommand(
  args: readonly string[],
  isCut: boolean,
): { readonly name: string; readonly args: string[] } {
  if (!isCut) return { name: Deno.execPath(), args: [...args] };
  const alone = ["-n", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"];
  return { name: "unshare", args: [...alone, Deno.execPath(), ...args] };
}

/** Runs a step in a folder; the default is the tree. */
export async function runStep(
  step: Step,
  { folder = TREE, isCut = false }: { readonly folder?: string; readonly isCut?: boolean } = {},
): Promise<StepResult> {
  const started = performance.now();
  const { name, args } = denoCommand(step.args, isCut);
  const output = await new Deno.Command(name, {
    args,
    cwd: folder,
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  return {
    name: step.name,
    isOk: output.success,
    seconds: (performance.now() - started) / 1000,
    output: decoder.decode(output.stdout) + decoder.decode(output.stderr),
  };
}

/**
 * Runs steps in parallel, `places` at a time, in their order. Reports each result as soon as its
 * step ends. Returns the results in the order of the steps.
 */
export async function runSteps<S extends Step>(
  steps: readonly S[],
  places: number,
  run: (step: S) => Promise<StepResult>,
  say: (line: string) => void,
): Promise<readonly StepResult[]> {
  const results: StepResult[] = [];
  const waiting = [...steps.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const result = await run(next[1]);
      results[next[0]] = result;
      for (const line of stepLines(result)) say(line);
    }
  };
  await Promise.all(Array.from({ length: places }, work));
  return results;
}

/** Returns the lines for a step: a summary and, when it failed, its output. */
export function stepLines({ name, isOk, seconds, output }: StepResult): readonly string[] {
  const head = `${isOk ? "ok  " : "FAIL"} ${name} (${seconds.toFixed(1)} s)`;
  if (isOk) return [head];
  const lines = output.trimEnd().split("\n").filter((line) => !DOT.test(line));
  const left = lines.length - SHOWN_LINES;
  const shown = left > 0 ? [`… ${left} lines before`, ...lines.slice(left)] : lines;
  return [head, ...shown.map((line) => `  ${line}`.trimEnd())];
}

/**
 * Returns how many steps or jobs run in parallel: one more than there are processors, because tests
 * also wait. More jobs gain little, and the product's own deadlines start to fail.
 */
export function places(): number {
  return navigator.hardwareConcurrency + 1;
}
