/**
 * Text of environment files as systemd reads them (`EnvironmentFile=`, systemd.exec(5)), printed
 * and parsed so that every value comes back as it was, quotes, spaces and `#` included.
 * No I/O. Rule: "Secret store and rendered files" (values are opaque, names are not).
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Values that systemd reads as they are, without quotes. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** Names and values in file order. */
export type EnvEntries = readonly (readonly [name: string, value: string])[];

/**
 * Prints entries, one per line. Refuses names that are none, and values with a NUL; a newline in
 * a value is kept inside its quotes, which systemd reads, and a name twice is refused because
 * readers differ on which one wins.
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
    refusal("env-file-invalid", "Cannot print an environment file: some entries have no form", {
      details: faults,
    }),
  );
}

/** Inside double quotes systemd unescapes these four characters, and no others. */
function quoteValue(value: string): string {
  if (value === "" || PLAIN.test(value)) return value;
  return `"${value.replace(/["\\`$]/g, (character) => `\\${character}`)}"`;
}

/** Parses text as systemd does, but refuses what systemd would skip in silence. */
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
    refusal("env-file-invalid", "Cannot read an environment file: some lines have no meaning", {
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

/** False when the comment ends in a backslash: releases of systemd differ on what follows. */
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
 * Reads up to the end of the line; undefined when a quote stays open. Quotes count only at the
 * beginning and right after another quoted part; inside a plain word they are characters.
 */
function readValue(reader: Reader): string | undefined {
  let value = "";
  let isPlain = false;
  /** Length of what trailing white space must not be cut from. */
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
