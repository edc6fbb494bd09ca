/**
 * The summary line of a tool call: operation, target, result. Pure.
 *
 * @module
 */

import type { ToolStep } from "gateway/web/state/turns.ts";
import { cleanLine } from "gateway/web/state/clean.ts";
import { record } from "gateway/web/state/wire.ts";

/** Kind of a tool, for its icon. */
export type ToolSort = "read" | "write" | "run" | "find" | "web" | "other";

/** Tool names by their first word. */
const SORTS: readonly (readonly [RegExp, ToolSort])[] = [
  [/^(write|edit|create|update|delete|remove|apply|patch|move|rename|set|add)/, "write"],
  [/^(bash|shell|exec|run|execute|terminal|command)/, "run"],
  [/^(grep|search|find|glob|list|ls|query)/, "find"],
  [/^(fetch|browse|navigate|open|http|web|screenshot|click)/, "web"],
  [/^(read|get|cat|view|show|log|status|diff|describe)|_(log|show|status|diff|read|get)$/, "read"],
];
const WORDS: Readonly<Record<ToolSort, readonly [one: string, many: string]>> = {
  read: ["read 1 thing", "read # things"],
  write: ["made 1 change", "made # changes"],
  run: ["ran 1 command", "ran # commands"],
  find: ["searched once", "searched # times"],
  web: ["opened 1 page", "opened # pages"],
  other: ["used 1 tool", "used # tools"],
};
/** The most descriptive arguments of a call, best first. */
const TELLING = [
  "command",
  "cmd",
  "path",
  "file_path",
  "file",
  "url",
  "query",
  "pattern",
  "name",
  "repo",
  "repository",
  "text",
];
const TARGET_MAX = 120;

/** Returns the kind of a tool by its name. */
export function toolSort(tool: string): ToolSort {
  const name = tool.toLowerCase().replace(/^[a-z]+__/, "");
  return SORTS.find(([pattern]) => pattern.test(name))?.[1] ?? "other";
}

/** Returns the short target of a call, on one line. */
export function toolTarget(step: Pick<ToolStep, "arguments">): string {
  const given = record(step.arguments);
  const named = TELLING.map((name) => given[name]).find(isTelling) ??
    Object.values(given).find(isTelling);
  const words = typeof named === "string" ? named : named === undefined ? "" : String(named);
  const line = cleanLine(words.slice(0, TARGET_MAX * 4)).trim();
  return line.length > TARGET_MAX ? `${line.slice(0, TARGET_MAX)}…` : line;
}

function isTelling(value: unknown): boolean {
  return (typeof value === "string" && value !== "") || typeof value === "number";
}

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
