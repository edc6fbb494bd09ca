/**
 * The build context that all steps share: folders, tools, and how to run a program. Performs I/O
 * only through ports.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { Files } from "core/ports/files.ts";
import type { Processes } from "core/ports/processes.ts";
import { err, ok, type Result } from "core/result.ts";

/** Folders and dependencies of a build. */
export interface BuildContext {
  readonly files: Files;
  readonly processes: Pick<Processes, "run">;
  /** Folder of the source tree. */
  readonly tree: string;
  /** The Deno that runs the build; the same one is shipped. */
  readonly deno: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The bundle of the largest program takes seconds; a package that contains Deno takes longer. */
const STEP_MS_MAX = 180_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const LINES_SHOWN = 12;

/** Runs a build program to its end and returns its output; refuses when it failed. */
export async function runStep(
  context: BuildContext,
  what: string,
  argv: readonly [string, ...string[]],
): Promise<Result<string>> {
  const [command, ...args] = argv;
  const ended = await context.processes.run({
    command,
    args,
    cwd: context.tree,
    env: context.env,
    timeoutMs: STEP_MS_MAX,
    outputBytesMax: OUTPUT_BYTES_MAX,
  });
  if (ended.code === 0 && !ended.truncated) return ok(ended.stdout);
  const how = ended.timedOut
    ? `it took more than ${STEP_MS_MAX / 1000} s`
    : ended.truncated
    ? "it printed too much"
    : `it ended with ${ended.code ?? ended.signal}`;
  return err(refusal("build-failed", `Cannot ${what}: ${how}`, {
    details: `${ended.stderr}\n${ended.stdout}`.split("\n").filter((line) => line.trim() !== "")
      .slice(0, LINES_SHOWN),
  }));
}
