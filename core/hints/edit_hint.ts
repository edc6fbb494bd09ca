/**
 * The hint for a file that only its owner can repair: one command line that opens it in an editor
 * and then makes the host read it. Uses `EDITOR`, else `vi`, which every Unix has. No I/O.
 *
 * @module
 */

import { quoteShell } from "core/text/quote.ts";

/**
 * Returns the command line for the file at `path`. The path is absolute, so that the line works
 * from every folder; `verb` is the command that reads the file.
 */
export function editHint(path: string, verb = "fleetctl apply"): string {
  return `\${EDITOR:-vi} ${quoteShell(path)} && ${verb}`;
}
