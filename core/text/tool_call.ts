/**
 * The kind and the target of a tool call, guessed from its name and its arguments. Pure.
 *
 * @module
 */

import { cleanLine } from "core/text/clean.ts";
import { isRecord } from "core/text/json_object.ts";

/** Kind of a tool, for its icon. */
export type ToolSort = "read" | "write" | "run" | "find" | "web" | "other";

/** Tool names by their first word, and those of reading tools also by their last. */
const SORTS: readonly (readonly [RegExp, ToolSort])[] = [
  [/^(write|edit|create|update|delete|remove|apply|patch|move|rename|set|add)/, "write"],
  [/^(bash|shell|exec|run|execute|terminal|command)/, "run"],
  [/^(grep|search|find|glob|list|ls|query)/, "find"],
  [/^(fetch|browse|navigate|open|http|web|screenshot|click)/, "web"],
  [/^(read|get|cat|view|show|log|status|diff|describe)|_(log|show|status|diff|read|get)$/, "read"],
];
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
export function toolTarget(call: { readonly arguments: unknown }): string {
  const given = isRecord(call.arguments) ? call.arguments : {};
  const named = TELLING.map((name) => given[name]).find(isTelling) ??
    Object.values(given).find(isTelling);
  const words = typeof named === "string" ? named : named === undefined ? "" : String(named);
  const line = cleanLine(words.slice(0, TARGET_MAX * 4)).trim();
  return line.length > TARGET_MAX ? `${line.slice(0, TARGET_MAX)}…` : line;
}

function isTelling(value: unknown): boolean {
  return (typeof value === "string" && value !== "") || typeof value === "number";
}
