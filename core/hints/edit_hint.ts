/**
 * The hint for a file that only its owner can mend: one line that opens it and then makes the host
 * read it. `EDITOR` is asked first, `vi` is what every Unix has. No I/O.
 *
 * @module
 */

import { quoteShell } from "core/text/quote.ts";

/**
 * Returns a line to paste for the file at `path`, which is absolute, so that it works from every
 * folder; `verb` is what reads the file.
 */
export function editHint(path: string, verb = "fleetctl apply"): string {
  return `\${EDITOR:-vi} ${quoteShell(path)} && ${verb}`;
}
