/**
 * Command lines of MCP servers and values with specifiers, on top of `core/text/quote.ts`. No I/O.
 *
 * @module
 */

import { printExec } from "core/text/quote.ts";

/** Placeholder for the folder of `LoadCredential=`; only fleetctl can use it, never a manifest. */
export const CREDENTIALS = "{credentials}";

/** Doubles `%`, so that a path or name is never read as a specifier. */
export function escapeSpecifiers(text: string): string {
  return text.replaceAll("%", "%%");
}

/** Prints a command line; `CREDENTIALS` becomes the specifier `%d`. */
export function printCommand(words: readonly string[]): string {
  const [program = "", ...args] = words;
  return printExec(program, args).replaceAll(CREDENTIALS, "%d");
}
