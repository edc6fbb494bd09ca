/**
 * The diff that `--dry-run` shows of a changed file: lines of a unit, key names of an env file,
 * entry names of a client config. Never a value of a secret. No I/O.
 *
 * @module
 */

import { parseEnvFile } from "core/text/env_file.ts";

/** Maximum number of lines in one file's diff; further lines are only counted. */
const DIFF_LINES_MAX = 200;
/** Texts with more lines are not compared line by line. */
const COMPARED_LINES_MAX = 2_000;

/** Returns the changed lines with `-` and `+`, without unchanged lines. */
export function diffLines(before: string, after: string): readonly string[] {
  const a = lines(before);
  const b = lines(after);
  if (a.length > COMPARED_LINES_MAX || b.length > COMPARED_LINES_MAX) {
    return [`(${a.length} lines before, ${b.length} after)`];
  }
  // lengths[i][j]: longest common subsequence of a[i..] and b[j..].
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const row = lengths[i] as Uint16Array;
      row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const changed: string[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      changed.push(`-${a[i++]}`);
    } else changed.push(`+${b[j++]}`);
  }
  return cut(changed);
}

/** Returns the names of keys that were added, removed or changed. */
export function diffKeys(before: string, after: string): readonly string[] {
  const old = parseEnvFile(before);
  const now = parseEnvFile(after);
  return diffNames(old.ok ? old.value : new Map(), now.ok ? now.value : new Map());
}

/**
 * Returns the names that were added, removed or changed between two maps: `+KEY`, `-KEY`, `~KEY`.
 */
export function diffNames(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly string[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort();
  return cut(names.flatMap((name) => {
    if (!before.has(name)) return [`+${name}`];
    if (!after.has(name)) return [`-${name}`];
    return before.get(name) === after.get(name) ? [] : [`~${name}`];
  }));
}

function lines(text: string): readonly string[] {
  const all = text.split("\n");
  return all.at(-1) === "" ? all.slice(0, -1) : all;
}

function cut(changed: readonly string[]): readonly string[] {
  if (changed.length <= DIFF_LINES_MAX) return changed;
  const more = changed.length - DIFF_LINES_MAX;
  return [...changed.slice(0, DIFF_LINES_MAX), `(${more} more lines)`];
}
