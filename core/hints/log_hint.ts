/**
 * The command that shows a unit's recent log: the systemd journal under root `/`, the log file of
 * the embedded service manager under any other root. No I/O.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import { quoteShell } from "core/text/quote.ts";

/** Lines that the command shows. */
const LINES = 50;

/** Returns the command, ready to paste. */
export function logHint(paths: Pick<Paths, "root" | "logs">, unit: string): string {
  return paths.root === "/"
    ? `journalctl -u ${unit} -n ${LINES}`
    : `tail -n ${LINES} ${quoteShell(`${paths.logs}/${unit}.log`)}`;
}
