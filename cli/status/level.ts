/**
 * The severity of a problem of `fleetctl status`, and the resulting exit code. Pure.
 *
 * | Exit code | Means |
 * |-----------|-------|
 * | 0 | nothing is wrong |
 * | 1 | something does not work, or something secret is open to others |
 * | 3 | everything works, and something waits for an operator |
 *
 * @module
 */

import type { ExitCode } from "cli/exit.ts";
import type { Refusal } from "core/errors.ts";

/** `fault` does not work now; `attention` works but should be changed. */
export type Level = "fault" | "attention";

const ATTENTION: ReadonlySet<string> = new Set([
  "agent-storage-filling",
  "certificate-ends-soon",
  "disk-entries-nearly-gone",
  "disk-nearly-full",
  "host-ceiling-near",
  "host-differs",
  "old-version-runs",
  "restart-pending",
  "runtime-memory-low",
]);

/** Returns the level of a problem. An unknown code counts as a fault. */
function levelOf({ code }: Pick<Refusal, "code">): Level {
  return ATTENTION.has(code) ? "attention" : "fault";
}

/** Returns the exit code for these problems. */
export function exitOf(problems: readonly Pick<Refusal, "code">[]): ExitCode {
  if (problems.length === 0) return 0;
  return problems.some((one) => levelOf(one) === "fault") ? 1 : 3;
}

/** Returns a problem as `--json` prints it. */
export function problemJson(problem: Refusal) {
  const { code, message, details, hints } = problem;
  return { code, level: levelOf(problem), message, details, hints };
}
