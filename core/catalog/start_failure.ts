/**
 * Why a server that was tried out does not answer: the end of its stderr, safe to show, and the
 * causes that can be recognized. No I/O.
 *
 * @module
 */

/** Most lines shown, and most characters of each. */
const LINES_MAX = 12;
const LINE_LENGTH_MAX = 300;

/** Names of native addon files, as runtimes and loaders print them when one cannot be used. */
const ADDON_FILE = /([A-Za-z0-9@_.+-]{1,100}\.node)\b/;
/** What runtimes, `bindings`, `node-gyp-build` and napi packages print when an addon is missing. */
const ADDON_ERRORS: readonly RegExp[] = [
  /Could not locate the bindings file/i,
  /Cannot find native binding/i,
  /No native build was found/i,
  /Failed to load native (binding|module)/i,
  /ERR_DLOPEN_FAILED/,
  /Requires ffi access/,
  /Cannot find module [^\n]{0,300}\.node\b/,
  /Could not load the "[^"\n]{1,60}" module using the [a-z0-9-]{1,40} runtime/i,
];

/** Returns the last lines: control characters escaped, empty lines left out. */
export function lastLines(text: string): readonly string[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== "").slice(-LINES_MAX)
    .map((line) => {
      const shown = visible(line);
      return shown.length > LINE_LENGTH_MAX ? `${shown.slice(0, LINE_LENGTH_MAX - 1)}…` : shown;
    });
}

/** Returns part of a sentence for a server that lacks a native addon; undefined otherwise. */
export function missingAddon(text: string): string | undefined {
  if (!ADDON_ERRORS.some((pattern) => pattern.test(text))) return undefined;
  const file = ADDON_FILE.exec(text)?.[1];
  const named = file === undefined ? "" : ` (${visible(file)})`;
  if (/Requires ffi access/.test(text)) {
    return `it loads a native addon${named}, which Deno does not allow here; use --engine node`;
  }
  return `it needs a native addon${named}, and package scripts that could build or download ` +
    "one never run";
}

function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
