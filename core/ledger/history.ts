/**
 * Reads the ledger's history, newest change first. Reads only. A commit that fleetctl did not make
 * (a person's commit, or a merge) has no verb, and its author counts as the caller.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { readHead } from "core/ledger/commit.ts";
import { type LedgerPorts, openGit } from "core/ledger/git.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";

/** One change. */
export interface LedgerEntry {
  readonly commit: string;
  /** Milliseconds since the epoch. */
  readonly when: number;
  readonly verb: string | undefined;
  readonly caller: string;
  readonly subject: string;
  /** Paths relative to the repository. */
  readonly files: readonly string[];
}

/** Selects changes. */
export interface HistoryQuery {
  readonly limit: number;
  /** Only changes that touched this file. */
  readonly path?: string;
}

/** Most entries of one result. */
export const HISTORY_ENTRIES_MAX = 10_000;
const START = "\u0001";
const FORMAT = [
  "%x01%H",
  "%ct",
  "%an",
  "%(trailers:key=Verb,valueonly,separator=%x20)",
  "%(trailers:key=Caller,valueonly,separator=%x20)",
  "%s",
].join("%x00") + "%x00";

/** Reads the newest changes. */
export async function readHistory(
  ports: Pick<LedgerPorts, "processes" | "clock">,
  paths: Paths,
  query: HistoryQuery,
): Promise<Result<readonly LedgerEntry[]>> {
  const git = await openGit(ports, paths);
  if (!git.ok) return git;
  if (await readHead(git.value) === undefined) {
    return err(
      refusal("ledger-missing", `Cannot read the ledger: "${paths.repo}" has no ledger`, {
        hints: ["fleetctl apply"],
      }),
    );
  }
  const args = ["log", `-${Math.min(query.limit, HISTORY_ENTRIES_MAX)}`, "--name-only"];
  const where = query.path === undefined ? [] : ["--", query.path];
  const logged = await git.value.run([...args, `--format=${FORMAT}`, ...where]);
  return logged.ok ? ok(logged.value.split(START).slice(1).map(parseEntry)) : logged;
}

function parseEntry(text: string): LedgerEntry {
  const [commit = "", when = "", author = "", verb = "", caller = "", subject = "", rest = ""] =
    text
      .split("\0");
  return {
    commit,
    when: Number(when) * 1000,
    verb: verb.trim() || undefined,
    caller: caller.trim() || author,
    subject,
    files: rest.split("\n").filter((line) => line !== ""),
  };
}
