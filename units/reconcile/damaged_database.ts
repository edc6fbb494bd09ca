/**
 * Commands that repair a unit that does not start because its database is damaged. The last log
 * lines of the unit name the file. Also states what is lost with it (docs/storage.md). No I/O.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import { quoteShell } from "core/text/quote.ts";

const SAID =
  /Cannot (?:open|use) \\*"(\/[^"\\]+\.db)\\*": the (?:file is not a database|database is damaged)/;

const LOST: Readonly<Record<string, string>> = {
  "gateway.db":
    "Without it: transcripts and waiting turns are gone, agents continue by themselves.",
  "dial.db": "Without it: events that the gateway does not have yet are lost, the rest continues.",
  "login.db": "Without it: all users must log in again.",
};

/** What is lost, and the commands in order. */
export interface Mending {
  readonly details: readonly string[];
  readonly hints: readonly string[];
}

/** The unit with the journal, and the command that starts it again. */
export interface MendedUnit {
  readonly unit: string;
  readonly paths: Pick<Paths, "dialState">;
  readonly start: string;
}

/** Returns the repair of the database that the journal names; undefined when it names none. */
export function mendDatabase(
  journal: readonly string[],
  { unit, paths, start }: MendedUnit,
): Mending | undefined {
  const path = journal.map((line) => SAID.exec(line)?.[1])
    .findLast((one) => one !== undefined && mayName(unit, one, paths));
  const lost = path === undefined ? undefined : LOST[path.slice(path.lastIndexOf("/") + 1)];
  if (path === undefined || lost === undefined) return undefined;
  const file = quoteShell(path);
  return {
    details: [lost],
    // The database's log is removed with it: a new database must not find the old log.
    hints: [
      `for f in ${file} ${file}-wal ${file}-shm; do [ ! -e "$f" ] || mv "$f" "$f.damaged"; done`,
      start,
    ],
  };
}

/**
 * Returns whether an agent's programs can write to the journal of a unit. If they can, its text is
 * not trusted: a person who pastes a hint is root.
 */
export function isJournalOfAgent(unit: string): boolean {
  return /^(?:fleetctl-dial-|mcp-)/.test(unit);
}

function mayName(unit: string, path: string, paths: MendedUnit["paths"]): boolean {
  if (!isJournalOfAgent(unit)) return true;
  const agent = /^fleetctl-dial-(.+)\.service$/.exec(unit)?.[1];
  if (agent === undefined) return false;
  const folder = `${paths.dialState(agent)}/`;
  return path.startsWith(folder) && !path.slice(folder.length).includes("/");
}
