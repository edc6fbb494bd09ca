/**
 * Environment files in systemd's format (`EnvironmentFile=`, systemd.exec(5)). Printing and parsing
 * preserve every value, including quotes, spaces and `#`. No I/O. Values are opaque, names are not.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Values that systemd reads verbatim without quotes. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** Names and values in file order. */
export type EnvEntries = readonly (readonly [name: string, value: string])[];

/**
 * Prints entries, one per line. Refuses invalid names, and values with a NUL or invalid Unicode.
 * Refuses a duplicate name, because readers differ on which value wins. Keeps a newline inside the
 * quotes of its value, which systemd reads.
 */
export function printEnvFile(entries: EnvEntries): Result<string> {
  const faults: string[] = [];
  const seen = new Set<string>();
  let text = "";
  for (const [name, value] of entries) {
    if (!NAME.test(name)) faults.push(`${JSON.stringify(name)} is not a variable name`);
    else if (seen.has(name)) faults.push(`${name} is given twice`);
    else if (value.includes("\0")) faults.push(`the value of ${name} has a NUL character`);
    else if (!value.isWellFormed()) faults.push(`the value of ${name} is not valid Unicode`);
    seen.add(name);
    text += `${name}=${quoteValue(value)}\n`;
  }
  return faults.length === 0 ? ok(text) : err(
    refusal("env-file-invalid", "Cannot print an environment file: some entries are invalid", {
      details: faults,
    }),
  );
}

/** Inside double quotes, systemd unescapes only these four characters. */
function quoteValue(value: string): string {
  if (value === "" || PLAIN.test(value)) return value;
  return `"${value.replace(/["\\`$]/g, (character) => `\\${character}`)}"`;
}

/** Parses text like systemd, but refuses what systemd would silently skip. */
export function parseEnvFile(text: string): Result<ReadonlyMap<string, string>> {
  const values = new Map<string, string>();
  const faults: string[] = [];
  const reader = { text, at: 0, line: 1 };
  while (reader.at < text.length) {
    const line = reader.line;
    const character = text[reader.at] ?? "";
    if (/[\s]/.test(character)) {
      take(reader);
    } else if (character === "#" || character === ";") {
      if (!skipComment(reader)) faults.push(`line ${line}: the comment ends with a backslash`);
    } else {
      const name = readName(reader);
      if (name === undefined) faults.push(`line ${line}: no "=" in the line, must be NAME=value`);
      else if (!NAME.test(name)) {
        faults.push(`line ${line}: ${JSON.stringify(name)} is not a variable name`);
        readValue(reader);
      } else {
        const value = readValue(reader);
        if (value === undefined) faults.push(`line ${line}: a quote is not closed`);
        else values.set(name, value);
      }
    }
  }
  return faults.length === 0 ? ok(values) : err(
    refusal("env-file-invalid", "Cannot read an environment file: some lines are invalid", {
      kind: "settings",
      details: faults,
    }),
  );
}

interface Reader {
  readonly text: string;
  at: number;
  line: number;
}

function take(reader: Reader): string {
  const character = reader.text[reader.at++] ?? "";
  if (character === "\n") reader.line++;
  return character;
}

/**
 * Skips a comment. Returns false when it ends in a backslash, because systemd releases differ on
 * what follows.
 */
function skipComment(reader: Reader): boolean {
  let last = "";
  while (reader.at < reader.text.length) {
    const character = take(reader);
    if (character === "\n") break;
    last = character;
  }
  return last !== "\\";
}

function readName(reader: Reader): string | undefined {
  let name = "";
  while (reader.at < reader.text.length) {
    const character = take(reader);
    if (character === "=") return name.trim();
    if (character === "\n") return undefined;
    name += character;
  }
  return undefined;
}

/**
 * Reads to the end of the line; undefined when a quote stays open. Quotes count only at the
 * beginning and right after a quoted part; within a plain word they are literal.
 */
function readValue(reader: Reader): string | undefined {
  let value = "";
  let isPlain = false;
  /** Length up to which trailing whitespace is kept. */
  let kept = 0;
  while (reader.at < reader.text.length) {
    const character = take(reader);
    if (character === "\n" || character === "\r") break;
    if (!isPlain && (character === "'" || character === '"')) {
      const quoted = readQuoted(reader, character);
      if (quoted === undefined) return undefined;
      value += quoted;
      kept = value.length;
    } else if (character === "\\") {
      isPlain = true;
      const next = take(reader);
      if (next !== "\n") value += next;
      kept = value.length;
    } else if (!/\s/.test(character)) {
      isPlain = true;
      value += character;
      kept = value.length;
    } else if (isPlain) {
      value += character;
    }
  }
  return value.slice(0, kept);
}

function readQuoted(reader: Reader, quote: string): string | undefined {
  let value = "";
  while (reader.at < reader.text.length) {
    const character = take(reader);
    if (character === quote) return value;
    if (character !== "\\" || quote === "'") {
      value += character;
      continue;
    }
    const next = take(reader);
    if (/["\\`$]/.test(next)) value += next;
    else if (next !== "\n") value += `\\${next}`;
  }
  return undefined;
}
