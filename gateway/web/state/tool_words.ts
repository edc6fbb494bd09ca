/**
 * Summaries of tool calls. Pure.
 *
 * @module
 */

import { type ToolSort, toolSort } from "core/text/tool_call.ts";
import type { ToolStep } from "gateway/web/state/turns.ts";

const WORDS: Readonly<Record<ToolSort, readonly [one: string, many: string]>> = {
  read: ["read 1 thing", "read # things"],
  write: ["made 1 change", "made # changes"],
  run: ["ran 1 command", "ran # commands"],
  find: ["searched once", "searched # times"],
  web: ["opened 1 page", "opened # pages"],
  other: ["used 1 tool", "used # tools"],
};

/** Summarizes several calls on one line, such as "Ran 3 commands, read 2 things". */
export function foldWords(tools: readonly ToolStep[]): string {
  const counts = new Map<ToolSort, number>();
  for (const { tool } of tools) {
    const sort = toolSort(tool);
    counts.set(sort, (counts.get(sort) ?? 0) + 1);
  }
  const words = [...counts].map(([sort, count]) => {
    const [one, many] = WORDS[sort];
    return count === 1 ? one : many.replace("#", String(count));
  }).join(", ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Summarizes how several calls ended: `done` only if each was completed. */
export function foldEnd(
  tools: readonly Pick<ToolStep, "status">[],
): { readonly status: "completed" | "failed" | "stopped"; readonly words: string } {
  const count = (...of: readonly ToolStep["status"][]) =>
    tools.filter(({ status }) => of.includes(status)).length;
  const failed = count("failed", "denied");
  if (failed > 0) return { status: "failed", words: `${failed} failed` };
  const stopped = count("stopped");
  if (stopped > 0) return { status: "stopped", words: `${stopped} stopped` };
  return { status: "completed", words: TOOL_STATUS_WORDS.completed };
}

/** Label of a call's status. */
export const TOOL_STATUS_WORDS: Readonly<Record<ToolStep["status"], string>> = {
  running: "running",
  completed: "done",
  failed: "failed",
  denied: "denied",
  stopped: "stopped",
};

/** Formats a duration. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.max(1, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 60_000) return `${Math.round(ms / 1_000)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60
    ? `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats a number of bytes. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} KiB`;
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}

/** Formats arguments in their given order. */
export function formatArguments(given: unknown): string {
  if (typeof given === "string") return given;
  try {
    return JSON.stringify(given, null, 2) ?? "";
  } catch {
    return String(given);
  }
}
