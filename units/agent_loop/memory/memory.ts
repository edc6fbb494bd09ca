/**
 * Changes of the memory's text. An entry is a line `- <text>`. All other lines belong to the person
 * who wrote them; an entry may replace or forget them, too. Pure.
 *
 * @module
 */

import { byteLength } from "core/text/cut_text.ts";
import { err, ok, type Result } from "core/result.ts";

/** Limits of the memory; the model gets all of it with each turn. */
export const MEMORY_BYTES_MAX = 16 * 1024;
/** Longest entry, in characters. */
export const ENTRY_LENGTH_MAX = 500;
/** Entries that a refusal shows, and how much of each. */
const SHOWN_MAX = 5;
const SHOWN_LENGTH_MAX = 80;

/** A change: `text` alone adds, `replaces` alone forgets, both replace. */
export interface MemoryChange {
  readonly text?: string | undefined;
  /** Part of exactly one line. */
  readonly replaces?: string | undefined;
}

/** The changed text, and what the model reads about it. */
export interface ChangedMemory {
  readonly text: string;
  readonly report: string;
}

/** Applies a change; the error is a sentence for the model. */
export function changeMemory(
  memory: string,
  { text, replaces }: MemoryChange,
): Result<ChangedMemory, string> {
  const entry = text === undefined ? "" : text.replace(/\s+/g, " ").trim().replace(/^- /, "");
  const old = replaces?.trim() ?? "";
  if (entry === "" && old === "") {
    return err("Cannot remember: neither text nor replaces has a word");
  }
  if (entry.length > ENTRY_LENGTH_MAX) {
    return err(
      `Cannot remember: the text has ${entry.length} characters, must have at most ` +
        `${ENTRY_LENGTH_MAX}; shorten it, or write a file and note its path`,
    );
  }
  const lines = memory.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const isKnown = entry !== "" && lines.includes(`- ${entry}`);
  if (old === "") {
    if (isKnown) return ok({ text: memory, report: "[already in the memory]" });
    lines.push(`- ${entry}`);
  } else {
    const at = lineOf(lines, old);
    if (!at.ok) return at;
    lines.splice(at.value, 1, ...entry === "" || isKnown ? [] : [`- ${entry}`]);
  }
  const next = lines.length === 0 ? "" : `${lines.join("\n")}\n`;
  const bytes = byteLength(next);
  if (bytes > MEMORY_BYTES_MAX && bytes >= byteLength(memory)) return err(fullText(lines, bytes));
  const done = old === "" ? "remembered" : entry === "" ? "forgotten" : "replaced";
  return ok({
    text: next,
    report: `[${done}; the memory has ${bytes} of ${MEMORY_BYTES_MAX} bytes]`,
  });
}

function lineOf(lines: readonly string[], part: string): Result<number, string> {
  const found = lines.flatMap((line, at) => line.includes(part) ? [at] : []);
  const whole = lines.flatMap((line, at) => line === part || line === `- ${part}` ? [at] : []);
  const [at] = whole.length > 0 ? whole : found;
  if (at !== undefined && (whole.length > 0 || found.length === 1)) return ok(at);
  return err(
    `Cannot change the memory: ${
      found.length === 0 ? "no line contains" : `${found.length} lines ` +
        "contain"
    } "${part.slice(0, SHOWN_LENGTH_MAX)}", exactly one must`,
  );
}

function fullText(lines: readonly string[], bytes: number): string {
  const longest = [...lines].sort((a, b) => b.length - a.length).slice(0, SHOWN_MAX)
    .map((line) => line.slice(0, SHOWN_LENGTH_MAX));
  return `Cannot remember: the memory would have ${bytes} bytes, must have at most ` +
    `${MEMORY_BYTES_MAX}. Make room first: forget what no longer holds (replaces without text), ` +
    `or replace long entries by shorter ones. The longest are:\n${longest.join("\n")}`;
}
