/**
 * The command that shows what a unit said last: the journal of systemd on a host of its own, the
 * log file of the embedded service manager under another root. No I/O.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import { quoteShell } from "core/text/quote.ts";

/** Lines that such a command shows. */
const LINES = 50;

/** Returns the command, ready to paste. */
export function logHint(paths: Pick<Paths, "root" | "logs">, unit: string): string {
  return paths.root === "/"
    ? `journalctl -u ${unit} -n ${LINES}`
    : `tail -n ${LINES} ${quoteShell(`${paths.logs}/${unit}.log`)}`;
}
