/**
 * Browser sessions on the server (decision 19): a token is worth nothing without its row, so that a
 * logout ends a session everywhere at once. One SQLite file; a row holds no secret.
 *
 * A row carries a fingerprint of the password that opened it: a changed password ends its sessions.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits.ts";
import type { Databases, SqlValue } from "core/ports.ts";
import type { Result } from "core/result.ts";
import { writeSql } from "core/sql_write.ts";

/** Version of the tables. */
const SCHEMA_VERSION = 1;
const TABLES = `
create table if not exists sessions (
  id text primary key,
  principal text not null,
  fingerprint text not null,
  created integer not null,
  expires integer not null,
  client text not null,
  agent text not null
) strict, without rowid;
create index if not exists sessions_of on sessions (principal, created);
create index if not exists sessions_until on sessions (expires);
`;

/** One session. Times are milliseconds since the epoch. */
export interface SessionRow {
  readonly id: string;
  readonly principal: string;
  readonly fingerprint: string;
  readonly created: number;
  readonly expires: number;
  /** Address of the client at its login, for the list of sessions. */
  readonly client: string;
  /** Its `User-Agent`, cut. */
  readonly agent: string;
}

/** The store. */
export interface SessionStore {
  find(id: string): SessionRow | undefined;
  /** Adds a session; returns the ids of those that had to end for it. */
  add(row: SessionRow): Result<readonly string[]>;
  end(id: string): Result<void>;
  /** Forgets what has expired. */
  sweep(now: number): Result<void>;
  close(): void;
}

/** Opens or creates the store; rejects when the file cannot be opened. */
export async function openSessionStore(
  databases: Databases,
  path: string,
): Promise<SessionStore> {
  const db = await databases.open(path);
  const version = Number(db.prepare("pragma user_version").get()?.user_version ?? 0);
  if (version > SCHEMA_VERSION) {
    db.close();
    throw new Error(
      `the database has version ${version}, this program knows ${SCHEMA_VERSION}: ` +
        "a newer fleetctl-login wrote it",
    );
  }
  db.transaction(() => {
    db.exec(TABLES);
    db.exec(`pragma user_version = ${SCHEMA_VERSION}`);
  });
  const find = db.prepare("select * from sessions where id = ?");
  const add = db.prepare("insert into sessions values (?, ?, ?, ?, ?, ?, ?)");
  const drop = db.prepare("delete from sessions where id = ?");
  const expire = db.prepare("delete from sessions where expires <= ?");
  const older = db.prepare(
    "select id from sessions where principal = ? order by created desc, id limit -1 offset ?",
  );
  return {
    find: (id) => {
      const row = find.get(id);
      return row === undefined ? undefined : readRow(row);
    },
    add: (row) =>
      writeSql(db, "the session", () => {
        const { id, principal, fingerprint, created, expires, client, agent } = row;
        add.run(
          id,
          principal,
          fingerprint,
          Math.floor(created),
          Math.floor(expires),
          client,
          agent,
        );
        const ended = older.all(principal, LOGIN_LIMITS.sessionsPerPrincipalMax)
          .map((one) => String(one.id));
        for (const one of ended) drop.run(one);
        return ended;
      }),
    end: (id) =>
      writeSql(db, "the end of the session", () => {
        drop.run(id);
      }),
    sweep: (now) =>
      writeSql(db, "the end of old sessions", () => {
        expire.run(Math.floor(now));
      }),
    close: () => db.close(),
  };
}

function readRow(row: Readonly<Record<string, SqlValue>>): SessionRow {
  return {
    id: String(row.id),
    principal: String(row.principal),
    fingerprint: String(row.fingerprint),
    created: Number(row.created),
    expires: Number(row.expires),
    client: String(row.client),
    agent: String(row.agent),
  };
}
