/**
 * Splits unit values into words as systemd does: quotes around whole words, C escapes, specifiers.
 * No I/O. Syntax: systemd.service(5) "Command lines", systemd.unit(5) "Specifiers". Refuses what
 * systemd would refuse, and what systemd would probably read differently from the author's intent.
 *
 * @module
 */

import { err, ok, type Result } from "core/result.ts";

/** Value of each specifier in one unit. */
export type Specifiers = ReadonlyMap<string, string>;

/** A value, or one sentence that states why it cannot be read. */
export type Read<T> = Result<T, string>;

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  s: " ",
  "\\": "\\",
  '"': '"',
  "'": "'",
  ";": ";",
};
/** Number of digits after the letter of a numeric escape. */
const NUMERIC_ESCAPES: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/** One word of a value; `quoted` distinguishes a quoted `;` from the separator of commands. */
export interface Word {
  readonly text: string;
  readonly quoted: boolean;
}

/** Splits a value into words; quotes and escapes are resolved, specifiers are not. */
function splitWords(value: string): Read<readonly Word[]> {
  const words: Word[] = [];
  let at = 0;
  while (true) {
    while (isSpace(value[at])) at++;
    if (at >= value.length) return ok(words);
    const word = readWord(value, at);
    if (!word.ok) return word;
    words.push({ text: word.value.text, quoted: word.value.quoted });
    at = word.value.next;
  }
}

interface WordAt {
  readonly text: string;
  readonly quoted: boolean;
  readonly next: number;
}

function readWord(value: string, start: number): Read<WordAt> {
  const first = value[start];
  const quote = first === '"' || first === "'" ? first : undefined;
  let at = quote === undefined ? start : start + 1;
  let text = "";
  let escaped = false;
  for (; at < value.length; at++) {
    const char = value[at] as string;
    if (char === "\\") {
      const unescaped = readEscape(value, at + 1);
      if (!unescaped.ok) return unescaped;
      text += unescaped.value.text;
      at = unescaped.value.next - 1;
      escaped = true;
    } else if (char === quote) {
      const after = value[at + 1];
      if (after !== undefined && !isSpace(after)) return err("a closing quote must end a word");
      return ok({ text, quoted: true, next: at + 1 });
    } else if (quote === undefined && isSpace(char)) {
      break;
    } else if (quote === undefined && (char === '"' || char === "'")) {
      return err("a quote must begin a word");
    } else {
      text += char;
    }
  }
  if (quote !== undefined) return err("a quote is not closed");
  return ok({ text, quoted: escaped, next: at });
}

function readEscape(value: string, at: number): Read<{ text: string; next: number }> {
  const letter = value[at];
  if (letter === undefined) return err("a backslash ends the value");
  const simple = SIMPLE_ESCAPES[letter];
  if (simple !== undefined) return ok({ text: simple, next: at + 1 });
  const digits = NUMERIC_ESCAPES[letter];
  const from = digits === undefined ? at : at + 1;
  const next = from + (digits ?? 3);
  const number = value.slice(from, next);
  const fits = digits === undefined
    ? /^[0-3][0-7]{2}$/.test(number)
    : number.length === digits && /^[0-9a-fA-F]+$/.test(number);
  if (!fits) return err(`"\\${letter}" is not an escape`);
  const code = parseInt(number, digits === undefined ? 8 : 16);
  if (code === 0 || code > 0x10ffff) return err(`"\\${letter}${number}" is not a character`);
  return ok({ text: String.fromCodePoint(code), next });
}

function isSpace(char: string | undefined): boolean {
  return char === " " || char === "\t" || char === "\n" || char === "\r";
}

/** Replaces `%x` with its value and `%%` with `%`; refuses specifiers that are not listed. */
export function expandSpecifiers(text: string, specifiers: Specifiers): Read<string> {
  let fault: string | undefined;
  const expanded = text.replace(/%(.?)/gs, (whole, letter: string) => {
    if (letter === "%") return "%";
    const value = specifiers.get(letter);
    if (value === undefined) {
      fault ??= letter === ""
        ? 'a "%" ends the value, write "%%"'
        : `the specifier "${whole}" is not supported`;
    }
    return value ?? "";
  });
  return fault === undefined ? ok(expanded) : err(fault);
}

/** Splits a value and expands the specifiers of each word. */
export function readWords(value: string, specifiers: Specifiers): Read<readonly Word[]> {
  const words = splitWords(value);
  if (!words.ok) return words;
  const expanded: Word[] = [];
  for (const word of words.value) {
    const text = expandSpecifiers(word.text, specifiers);
    if (!text.ok) return text;
    expanded.push({ text: text.value, quoted: word.quoted });
  }
  return ok(expanded);
}

/** Undoes the escaping of an instance name: `-` is a slash and `\x2d` a byte. */
export function unescapeInstance(name: string): string {
  return name.replace(
    /\\x([0-9a-f]{2})|-/g,
    (_, hex: string | undefined) =>
      hex === undefined ? "/" : String.fromCharCode(parseInt(hex, 16)),
  );
}
