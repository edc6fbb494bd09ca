/**
 * What is asked of the whole tree before anything of it runs (format, lint, types), and running
 * such steps side by side. The one list of `./dev check` and of `./dev test`: what one accepts, the
 * other does. Nothing here downloads.
 *
 * @module
 */

import { TREE } from "tests/support/module_graph.ts";

/** One run of Deno. */
export interface Step {
  readonly name: string;
  readonly args: readonly string[];
}

/** How it ended. */
export interface StepResult {
  readonly name: string;
  readonly isOk: boolean;
  readonly seconds: number;
  /** What it wrote, standard output first. */
  readonly output: string;
}

/** Returns the steps for a tree of these files. */
export function treeSteps(files: readonly string[]): readonly Step[] {
  return [
    { name: "types", args: ["check", "-q", "--cached-only", ...typeRoots(files)] },
    { name: "lint", args: ["lint", "-q"] },
    { name: "format", args: ["fmt", "-q", "--check"] },
  ];
}

/** Folders whose types are asked: all but the benches, which `./dev bench` asks by itself. */
function typeRoots(files: readonly string[]): readonly string[] {
  const code = files.filter((file) => /\.tsx?$/.test(file) && !file.startsWith("tests/bench/"));
  const rootOf = (file: string) => file.split("/").slice(0, file.startsWith("tests/") ? 2 : 1);
  return [...new Set(code.map((file) => rootOf(file).join("/")))];
}

/** Lines shown of a step that failed; the faults stand at the end of what Deno writes. */
const SHOWN_LINES = 200;
/** One test that ran, as the reporter of dots tells it. */
const DOT = /^[.,!]$/;

/** The command that runs Deno, without a network when that is asked and may be. */
export function denoCommand(
  args: readonly string[],
  isCut: boolean,
): { readonly name: string; readonly args: string[] } {
  if (!isCut) return { name: Deno.execPath(), args: [...args] };
  const alone = ["-n", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"];
  return { name: "unshare", args: [...alone, Deno.execPath(), ...args] };
}

/** Runs a step in a folder, the tree if none is named. */
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
 * Runs steps side by side, `places` at a time, begun in their order, and says how each ended as
 * soon as it does. The results are in the order of the steps.
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

/** What is said of a step: one line, and below it what it wrote when it failed. */
export function stepLines({ name, isOk, seconds, output }: StepResult): readonly string[] {
  const head = `${isOk ? "ok  " : "FAIL"} ${name} (${seconds.toFixed(1)} s)`;
  if (isOk) return [head];
  const lines = output.trimEnd().split("\n").filter((line) => !DOT.test(line));
  const left = lines.length - SHOWN_LINES;
  const shown = left > 0 ? [`… ${left} lines before`, ...lines.slice(left)] : lines;
  return [head, ...shown.map((line) => `  ${line}`.trimEnd())];
}

/**
 * How many steps or jobs run side by side: one more than there are processors, as tests
 * also wait. More of them gain little, and the bounds of the product itself (a home must
 * answer soon) begin to break.
 */
export function places(): number {
  return navigator.hardwareConcurrency + 1;
}
