/**
 * The audit log: one row per decision about a verb that needs root, written before anything runs,
 * and completed with its outcome. Rows contain the verb, the target, arguments that are not secret,
 * and the names of the options, never an option's value. A decision that cannot be recorded is not
 * carried out, because every privileged action must be auditable.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import type { Database, SqlValue } from "core/ports/databases.ts";
import type { Caller } from "core/verbs/caller.ts";
import type { Addressed } from "core/verbs/target.ts";
import { verbName } from "core/verbs/verb.ts";

/** Returns the path of the log. */
export function auditFile(paths: Pick<Paths, "role">): string {
  return `${paths.role("daemon")}/audit.sqlite`;
}

/** Number of rows kept; the oldest are deleted first. */
export const AUDIT_ROWS_MAX = 100_000;
/** Old rows are pruned once per this many rows. */
const PRUNE_EVERY = 256;
/** Most characters of a request that a row keeps, so that long requests do not bloat the log. */
const WORDS_LENGTH_MAX = 512;

/** The writer of the row: the daemon, or a verb that an operator ran without it. */
export type AuditVia = "daemon" | "direct";

/** One decision. Fields are empty when the request could not be parsed. */
export interface AuditRow {
  readonly atMs: number;
  readonly via: AuditVia;
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

/** A row as read back; `exit` is absent while the verb runs, and for a denied request. */
export interface AuditEntry extends AuditRow {
  readonly id: number;
  readonly endedAtMs: number | undefined;
  readonly exit: string | undefined;
}

/** Selects rows: the newest `limit` of those that match. */
export interface AuditQuery {
  /** A kind (`operator`), the name of an agent, or a uid. */
  readonly caller?: string | undefined;
  /** First words of the verb: `mcp` matches all of its verbs. */
  readonly verb?: string | undefined;
  readonly isDeniedOnly: boolean;
  readonly sinceMs?: number | undefined;
  readonly limit: number;
}

/** The log; `close` closes its database. */
export interface Audit {
  /** Records a decision and returns its row id. */
  decided(row: AuditRow): number;
  /** Records the outcome of that decision's verb. */
  ended(id: number, outcome: { readonly atMs: number; readonly exit: string }): void;
  /** Returns the matching rows, oldest first. */
  read(query: AuditQuery): readonly AuditEntry[];
  close(): void;
}

const CREATE = `CREATE TABLE IF NOT EXISTS audit (
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
  exit TEXT,
  via TEXT NOT NULL DEFAULT 'daemon'
) STRICT`;

const INSERT =
  `INSERT INTO audit (at_ms, via, uid, pid, caller, verb, target, words, allowed, code, reason)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** Opens the log in a database. */
export function openAudit(database: Database): Audit {
  database.exec(CREATE);
  // A log from an older version lacks only the last column.
  const columns = database.prepare("PRAGMA table_info(audit)").all();
  if (!columns.some(({ name }) => name === "via")) {
    database.exec("ALTER TABLE audit ADD COLUMN via TEXT NOT NULL DEFAULT 'daemon'");
  }
  const insert = database.prepare(INSERT);
  const end = database.prepare("UPDATE audit SET ended_at_ms = ?, exit = ? WHERE id = ?");
  const prune = database.prepare("DELETE FROM audit WHERE id <= ?");
  return {
    decided: (row) => {
      const id = Number(insert.run(...valuesOf(row)).lastInsertRowid);
      if (id % PRUNE_EVERY === 0) prune.run(id - AUDIT_ROWS_MAX);
      return id;
    },
    ended: (id, { atMs, exit }) => void end.run(atMs, exit, id),
    read: (query) => readRows(database, query),
    close: () => database.close(),
  };
}

function valuesOf(row: AuditRow): readonly SqlValue[] {
  const { atMs, via, uid, pid, caller, verb, target, words, isAllowed, code, reason } = row;
  return [atMs, via, uid, pid, caller, verb, target, words, isAllowed ? 1 : 0, code, reason];
}

function readRows(database: Database, query: AuditQuery): readonly AuditEntry[] {
  const wheres: string[] = [];
  const values: SqlValue[] = [];
  if (query.caller !== undefined) {
    // A caller has the form kind:agent:uid or kind:uid; match any one of the parts.
    wheres.push("instr(':' || caller || ':', ':' || ? || ':') > 0");
    values.push(query.caller);
  }
  if (query.verb !== undefined) {
    wheres.push("(verb = ? OR substr(verb, 1, length(?) + 1) = ? || ' ')");
    values.push(query.verb, query.verb, query.verb);
  }
  if (query.isDeniedOnly) wheres.push("allowed = 0");
  if (query.sinceMs !== undefined) {
    wheres.push("at_ms >= ?");
    values.push(query.sinceMs);
  }
  const where = wheres.length === 0 ? "" : `WHERE ${wheres.join(" AND ")}`;
  return database.prepare(`SELECT * FROM audit ${where} ORDER BY id DESC LIMIT ?`)
    .all(...values, query.limit).map(entryOf).reverse();
}

function entryOf(row: Readonly<Record<string, SqlValue>>): AuditEntry {
  const text = (name: string) => String(row[name] ?? "");
  return {
    id: Number(row.id),
    atMs: Number(row.at_ms),
    via: row.via === "direct" ? "direct" : "daemon",
    uid: Number(row.uid),
    pid: Number(row.pid),
    caller: text("caller"),
    verb: text("verb"),
    target: text("target"),
    words: text("words"),
    isAllowed: Number(row.allowed) === 1,
    code: text("code"),
    reason: text("reason"),
    endedAtMs: row.ended_at_ms === null ? undefined : Number(row.ended_at_ms),
    exit: row.exit === null ? undefined : text("exit"),
  };
}

/**
 * Returns the description of an invocation for the log: arguments and option names, without option
 * values, a secret argument and the arguments of a `rest` row.
 */
export function auditedWords(addressed: Addressed): Pick<AuditRow, "verb" | "target" | "words"> {
  const { invocation, target } = addressed;
  const names = [...Object.keys(invocation.options), ...invocation.switches].sort();
  const { verb, args } = invocation;
  const secret = verb.args.find((row) => row.secret)?.name;
  const given = Object.entries(args).flatMap(([name, value]) => name === secret ? [] : [value]);
  const words = [...given, ...names.map((name) => `--${name}`)].join(" ");
  return {
    verb: verbName(verb),
    target: target.kind === "agent" ? target.agent : target.kind,
    words: words.length <= WORDS_LENGTH_MAX
      ? words
      : `${words.slice(0, WORDS_LENGTH_MAX).toWellFormed()}…`,
  };
}

/** Returns the name of a caller in the log: `operator:0`, `admin:ada:1001`, `other:1004`. */
export function auditedCaller(caller: Caller): string {
  return "agent" in caller
    ? `${caller.kind}:${caller.agent}:${caller.uid}`
    : `${caller.kind}:${caller.uid}`;
}
