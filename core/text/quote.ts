/**
 * Quoting of words for those who parse them again: a POSIX shell (hints that people paste) and
 * systemd command lines (`ExecStart=`). No I/O. Both are total for text without NUL and newline,
 * which neither can carry.
 *
 * @module
 */

const SHELL_SAFE = /^[A-Za-z0-9_@%+=:,./-]+$/;
const SYSTEMD_SAFE = /^[A-Za-z0-9_@%$+=:,./{}<>()-]+$/;

/** Quotes one word for a POSIX shell; a word that needs no quotes stays as it is. */
export function quoteShell(word: string): string {
  return SHELL_SAFE.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Joins words into one shell command line. */
export function printShell(words: readonly string[]): string {
  return words.map(quoteShell).join(" ");
}

/**
 * Quotes one argument of a systemd command line, so that no specifier (`%`) and no variable (`$`)
 * in it is expanded.
 */
export function quoteExec(word: string): string {
  return quoteSystemd(word.replaceAll("%", "%%").replaceAll("$", "$$$$"));
}

/**
 * Joins a program and its arguments into the value of `ExecStart=`. The program is an absolute
 * path: other first characters have meanings of their own, and `$` is no variable there.
 */
export function printExec(program: string, args: readonly string[]): string {
  if (!program.startsWith("/")) {
    throw new RangeError(`Cannot print a command line: ${JSON.stringify(program)} is not absolute`);
  }
  return [quoteSystemd(program.replaceAll("%", "%%")), ...args.map(quoteExec)].join(" ");
}

/** Prints `name=value` for `Environment=`, where specifiers are expanded and variables are not. */
export function quoteAssignment(name: string, value: string): string {
  return quoteSystemd(`${name}=${value.replaceAll("%", "%%")}`);
}

/** Takes a word whose specifiers and variables are escaped already. */
function quoteSystemd(word: string): string {
  if (/[\0\n\r]/.test(word)) {
    throw new RangeError("Cannot quote a word for a unit file: it has a NUL or a line break");
  }
  if (SYSTEMD_SAFE.test(word)) return word;
  // A lone `;` is a separator and a trailing backslash joins lines, so both go into quotes.
  return `"${word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\t", "\\t")}"`;
}
