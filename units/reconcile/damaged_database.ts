/**
 * What mends a unit that does not start because its database is damaged: the last words of the unit
 * name the file. Says what is lost with it (docs/storage.md). No I/O.
 *
 * @module
 */

import { quoteShell } from "core/quote.ts";

const SAID =
  /Cannot (?:open|use) \\*"(\/[^"\\]+\.db)\\*": the (?:file is not a database|database is damaged)/;

const LOST: Readonly<Record<string, string>> = {
  "gateway.db": "Without it: transcripts and waiting turns are gone, agents go on by themselves.",
  "dial.db": "Without it: events that the gateway does not have yet are lost, the rest goes on.",
  "login.db": "Without it: everybody logs in again.",
};

/** What is lost, and the commands in their order. */
export interface Mending {
  readonly details: readonly string[];
  readonly hints: readonly string[];
}

/** Returns what mends the database that the journal names; undefined when it names none. */
export function mendDatabase(journal: readonly string[], start: string): Mending | undefined {
  const path = journal.map((line) => SAID.exec(line)?.[1]).findLast((one) => one !== undefined);
  const lost = path === undefined ? undefined : LOST[path.slice(path.lastIndexOf("/") + 1)];
  if (path === undefined || lost === undefined) return undefined;
  const file = quoteShell(path);
  return {
    details: [lost],
    // The log of a database belongs to it: a new file must not find the old one.
    hints: [
      `for f in ${file} ${file}-wal ${file}-shm; do [ ! -e "$f" ] || mv "$f" "$f.damaged"; done`,
      start,
    ],
  };
}
