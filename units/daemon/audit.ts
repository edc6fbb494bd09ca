/**
 * The daemon's audit log: one row per decision, written before anything runs, and how it ended.
 * Rows name the verb, the target and the options by name; never a value. A decision that cannot be
 * recorded is not carried out, because what is not in the log cannot be answered for.
 *
 * @module
 */

import type { Database } from "core/ports.ts";
import type { Caller } from "core/verbs/caller.ts";
import type { Addressed } from "core/verbs/rewrite.ts";
import { verbName } from "core/verbs/verb.ts";

/** Rows kept; the oldest go first. */
export const AUDIT_ROWS_MAX = 100_000;
/** Old rows are looked for once in so many. */
const PRUNE_EVERY = 256;

/** One decision. Fields that are not known, because the request could not be read, are empty. */
export interface AuditRow {
  readonly atMs: number;
  readonly uid: number;
  readonly pid: number;
  readonly caller: string;
  readonly verb: string;
  readonly target: string;
  readonly words: string;
  readonly isAllowed: boolean;
  readonly code: string;
  readonly reason: string;
}

/** The log; `close` closes its database. */
export interface Audit {
  /** Records a decision and returns its number. */
  decided(row: AuditRow): number;
  /** Records how the verb of that decision ended. */
  ended(id: number, outcome: { readonly atMs: number; readonly exit: string }): void;
  close(): void;
}

/** Opens the log in a database. */
export function openAudit(database: Database): Audit {
  database.exec(`CREATE TABLE IF NOT EXISTS audit (
    id INTEGER PRIMARY KEY,
    at_ms INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    caller TEXT NOT NULL,
    verb TEXT NOT NULL,
    target TEXT NOT NULL,
    words TEXT NOT NULL,
    allowed INTEGER NOT NULL,
    code TEXT NOT NULL,
    reason TEXT NOT NULL,
    ended_at_ms INTEGER,
    exit TEXT
  ) STRICT`);
  const insert = database.prepare(
    `INSERT INTO audit (at_ms, uid, pid, caller, verb, target, words, allowed, code, reason)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const end = database.prepare("UPDATE audit SET ended_at_ms = ?, exit = ? WHERE id = ?");
  const prune = database.prepare("DELETE FROM audit WHERE id <= ?");
  return {
    decided: (row) => {
      const id = Number(
        insert.run(
          row.atMs,
          row.uid,
          row.pid,
          row.caller,
          row.verb,
          row.target,
          row.words,
          row.isAllowed ? 1 : 0,
          row.code,
          row.reason,
        ).lastInsertRowid,
      );
      if (id % PRUNE_EVERY === 0) prune.run(id - AUDIT_ROWS_MAX);
      return id;
    },
    ended: (id, { atMs, exit }) => void end.run(atMs, exit, id),
    close: () => database.close(),
  };
}

/** Returns what the log says of an invocation: words and names of options, no value of an option. */
export function auditedWords(addressed: Addressed): Pick<AuditRow, "verb" | "target" | "words"> {
  const { invocation, target } = addressed;
  const names = [...Object.keys(invocation.options), ...invocation.switches].sort();
  return {
    verb: verbName(invocation.verb),
    target: target.kind === "agent" ? target.agent : target.kind,
    words: [...Object.values(invocation.args), ...names.map((name) => `--${name}`)].join(" "),
  };
}

/** Returns how the log names a caller: `operator:0`, `admin:ada:1001`, `other:1004`. */
export function auditedCaller(caller: Caller): string {
  return "agent" in caller
    ? `${caller.kind}:${caller.agent}:${caller.uid}`
    : `${caller.kind}:${caller.uid}`;
}
