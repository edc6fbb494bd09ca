/**
 * Quotes words for parsers: a POSIX shell (hints that people paste) and systemd command lines
 * (`ExecStart=`). No I/O. Both work for every text without NUL and newline, which neither format
 * can contain.
 *
 * @module
 */

const SHELL_SAFE = /^[A-Za-z0-9_@%+=:,./-]+$/;
const SYSTEMD_SAFE = /^[A-Za-z0-9_@%$+=:,./{}<>()-]+$/;

/** Quotes one word for a POSIX shell; returns a safe word unchanged. */
export function quoteShell(word: string): string {
  return SHELL_SAFE.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Joins words into one shell command line. */
export function printShell(words: readonly string[]): string {
  return words.map(quoteShell).join(" ");
}

/**
 * Quotes one argument of a systemd command line, so that systemd expands no specifier (`%`) and no
 * variable (`$`) in it.
 */
export function quoteExec(word: string): string {
  return quoteSystemd(word.replaceAll("%", "%%").replaceAll("$", "$$$$"));
}

/**
 * Joins a program and its arguments into the value of `ExecStart=`. The program must be an absolute
 * path: other first characters are special prefixes, and `$` is not expanded there.
 */
export function printExec(program: string, args: readonly string[]): string {
  if (!program.startsWith("/")) {
    throw new RangeError(`Cannot print a command line: ${JSON.stringify(program)} is not absolute`);
  }
  return [quoteSystemd(program.replaceAll("%", "%%")), ...args.map(quoteExec)].join(" ");
}

/**
 * Prints `name=value` for `Environment=`, where systemd expands specifiers but not variables. The
 * value may have several lines.
 */
export function quoteAssignment(name: string, value: string): string {
  const [first = "", ...rest] = `${name}=${value.replaceAll("%", "%%")}`.split("\n");
  if (rest.length === 0) return quoteSystemd(first);
  return `"${[first, ...rest].map(escapeSystemd).join("\\n")}"`;
}

/** Quotes a word whose specifiers and variables are already escaped. */
function quoteSystemd(word: string): string {
  if (SYSTEMD_SAFE.test(word)) return word;
  // A lone `;` is a separator and a trailing backslash joins lines, so both need quotes.
  return `"${escapeSystemd(word)}"`;
}

function escapeSystemd(word: string): string {
  if (/[\0\n\r]/.test(word)) {
    throw new RangeError("Cannot quote a word for a unit file: it has a NUL or a line break");
  }
  return word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\t", "\\t");
}
