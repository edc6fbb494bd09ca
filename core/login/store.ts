/**
 * Storage of the login proxy, one SQLite file: browser sessions, pinned identities and refresh
 * references. A logout deletes the session's row, so it ends everywhere. The CLI opens the same
 * file. No row contains a secret that grants access alone.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits/login.ts";
import type { Database, Databases, SqlValue } from "core/ports/databases.ts";
import type { Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";

/** Version of the tables. */
const SCHEMA_VERSION = 3;
const TABLES = `
create table if not exists sessions (
  id text primary key,
  principal text not null,
  fingerprint text not null,
  created integer not null,
  expires integer not null,
  client text not null,
  agent text not null,
  family text not null default '',
  seen integer not null default 0
) strict, without rowid;
create index if not exists sessions_of on sessions (principal, created);
create index if not exists sessions_of_family on sessions (family);
create index if not exists sessions_until on sessions (expires);
create table if not exists pins (
  address text primary key,
  issuer text not null,
  subject text not null,
  created integer not null
) strict, without rowid;
create table if not exists refreshes (
  digest text primary key,
  family text not null,
  principal text not null,
  sealed text not null,
  expires integer not null,
  used integer not null
) strict, without rowid;
create index if not exists refreshes_of on refreshes (family);
create index if not exists refreshes_until on refreshes (expires);
`;

/** Columns that are missing before version 3. */
const MIGRATION_TO_3 = "alter table sessions add column family text not null default ''; " +
  "alter table sessions add column seen integer not null default 0";

/** One session. Times are milliseconds since the epoch. */
export interface SessionRow {
  readonly id: string;
  readonly principal: string;
  readonly fingerprint: string;
  readonly created: number;
  readonly expires: number;
  /** Address of the client at its login, for the list of sessions. */
  readonly client: string;
  /** Its `User-Agent`, truncated. */
  readonly agent: string;
  /** The family of refresh references of the same login; empty if none. */
  readonly family: string;
  /** Time of the last recorded request; initially the login. */
  readonly seen: number;
}

/** The identity that owns an address: the first that signed in with it. */
export interface PinRow {
  readonly address: string;
  readonly issuer: string;
  readonly subject: string;
  readonly created: number;
}

/** A refresh reference, keyed by the digest of the browser's copy. */
export interface RefreshRow {
  readonly digest: string;
  /** One per login; rotated references keep it. */
  readonly family: string;
  readonly principal: string;
  /** The issuer's refresh token, encrypted. */
  readonly sealed: string;
  readonly expires: number;
  /** Already redeemed: a second use means that it was copied. */
  readonly isUsed: boolean;
}

/** The store. */
export interface LoginStore {
  readonly pins: PinStore;
  readonly refreshes: RefreshStore;
  find(id: string): SessionRow | undefined;
  /** Sessions of a principal, or all, newest first. */
  list(principal?: string): readonly SessionRow[];
  /** Changes when another program writes to the file. */
  version(): number;
  /** Adds a session; returns the ids of older sessions that it evicted. */
  add(row: SessionRow): Result<readonly string[]>;
  /** Records a request. */
  touch(id: string, now: number): Result<void>;
  /**
   * Ends a session, the refresh references of its login, and the other sessions of that family;
   * returns the ids of all ended sessions.
   */
  end(id: string): Result<readonly string[]>;
  /**
   * Ends every session and refresh reference of a principal; returns the number of sessions.
   */
  endAll(principal: string): Result<number>;
  /** Deletes expired rows. */
  sweep(now: number): Result<void>;
  close(): void;
}

/** Pinned identities. */
export interface PinStore {
  find(address: string): PinRow | undefined;
  /** Pins an address unless it is pinned already; returns the pin in effect. */
  add(row: PinRow): Result<PinRow>;
  list(): readonly PinRow[];
  /** Deletes a pin; false if there is none. */
  clear(address: string): Result<boolean>;
}

/** Refresh references. */
export interface RefreshStore {
  add(row: RefreshRow): Result<void>;
  find(digest: string): RefreshRow | undefined;
  /**
   * Marks a reference as used and adds its successor and a new session, in one transaction.
   * Undefined if it was used or ended since its lookup, else the evicted sessions.
   */
  rotate(
    digest: string,
    next: RefreshRow,
    session: SessionRow,
  ): Result<readonly string[] | undefined>;
  /** Ends the references and sessions of a family; returns the ids of the sessions. */
  endFamily(family: string): Result<readonly string[]>;
}

/** Opens or creates the store; rejects if the file cannot be opened. */
export async function openLoginStore(
  databases: Databases,
  path: string,
): Promise<LoginStore> {
  const db = await databases.open(path);
  const version = Number(db.prepare("pragma user_version").get()?.user_version ?? 0);
  if (version > SCHEMA_VERSION) {
    db.close();
    throw new Error(
      `the database has version ${version}, this program knows ${SCHEMA_VERSION}: ` +
        "a newer fleetctl-login wrote it",
    );
  }
  // Do not write to a current file, so that it opens on a full disk.
  if (version !== SCHEMA_VERSION) {
    db.transaction(() => {
      if (version === 1 || version === 2) db.exec(MIGRATION_TO_3);
      db.exec(TABLES);
      db.exec(`pragma user_version = ${SCHEMA_VERSION}`);
    });
  }
  const find = db.prepare("select * from sessions where id = ?");
  const drop = db.prepare("delete from sessions where id = ?");
  const touch = db.prepare("update sessions set seen = ? where id = ?");
  const insert = sessionInserter(db);
  const expire = db.prepare("delete from sessions where expires <= ?");
  const dropOwn = db.prepare("delete from sessions where principal = ?");
  const dropOwnRefreshes = db.prepare("delete from refreshes where principal = ?");
  const dropRefreshes = db.prepare("delete from refreshes where expires <= ?");
  const all = db.prepare("select * from sessions order by created desc, id");
  const own = db.prepare("select * from sessions where principal = ? order by created desc, id");
  const endFamily = familyEnder(db);
  const dataVersion = db.prepare("pragma data_version");
  return {
    pins: pinsOf(db),
    refreshes: refreshesOf(db, insert, endFamily),
    list: (principal) => (principal === undefined ? all.all() : own.all(principal)).map(readRow),
    version: () => Number(dataVersion.get()?.data_version ?? 0),
    find: (id) => {
      const row = find.get(id);
      return row === undefined ? undefined : readRow(row);
    },
    add: (row) => writeSql(db, "the session", () => insert(row)),
    touch: (id, now) =>
      writeSql(db, "the use of the session", () => {
        touch.run(Math.floor(now), id);
      }),
    end: (id) =>
      writeSql(db, "the end of the session", () => {
        const family = String(find.get(id)?.family ?? "");
        drop.run(id);
        return [id, ...(family === "" ? [] : endFamily(family))];
      }),
    endAll: (principal) =>
      writeSql(db, "the end of the sessions", () => {
        dropOwnRefreshes.run(principal);
        return dropOwn.run(principal).changes;
      }),
    sweep: (now) =>
      writeSql(db, "the end of old sessions", () => {
        expire.run(Math.floor(now));
        dropRefreshes.run(Math.floor(now));
      }),
    close: () => db.close(),
  };
}

/** Inserts a session within the caller's transaction; returns the evicted sessions. */
function sessionInserter(db: Database): (row: SessionRow) => readonly string[] {
  const add = db.prepare("insert into sessions values (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  const drop = db.prepare("delete from sessions where id = ?");
  const older = db.prepare(
    "select id from sessions where principal = ? order by created desc, id limit -1 offset ?",
  );
  return ({ id, principal, fingerprint, created, expires, client, agent, family, seen }) => {
    const times = [Math.floor(created), Math.floor(expires)] as const;
    add.run(id, principal, fingerprint, ...times, client, agent, family, Math.floor(seen));
    const ended = older.all(principal, LOGIN_LIMITS.sessionsPerPrincipalMax)
      .map((one) => String(one.id));
    for (const one of ended) drop.run(one);
    return ended;
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
    family: String(row.family),
    // Rows of an older version have 0 here.
    seen: Math.max(Number(row.seen), Number(row.created)),
  };
}

function pinsOf(db: Database): PinStore {
  const find = db.prepare("select * from pins where address = ?");
  const add = db.prepare("insert into pins values (?, ?, ?, ?) on conflict do nothing");
  const all = db.prepare("select * from pins order by address");
  const drop = db.prepare("delete from pins where address = ?");
  const read = (row: Readonly<Record<string, SqlValue>>): PinRow => ({
    address: String(row.address),
    issuer: String(row.issuer),
    subject: String(row.subject),
    created: Number(row.created),
  });
  return {
    find: (address) => {
      const row = find.get(address);
      return row === undefined ? undefined : read(row);
    },
    add: (row) =>
      writeSql(db, "the pin", () => {
        add.run(row.address, row.issuer, row.subject, Math.floor(row.created));
        const kept = find.get(row.address);
        return kept === undefined ? row : read(kept);
      }),
    list: () => all.all().map(read),
    clear: (address) => writeSql(db, "the end of the pin", () => drop.run(address).changes > 0),
  };
}

/** Ends a family within the caller's transaction; returns its sessions. */
function familyEnder(db: Database): (family: string) => readonly string[] {
  const drop = db.prepare("delete from refreshes where family = ?");
  const sessionsOf = db.prepare("select id from sessions where family = ?");
  const dropSessions = db.prepare("delete from sessions where family = ?");
  return (family) => {
    drop.run(family);
    const ended = sessionsOf.all(family).map((one) => String(one.id));
    dropSessions.run(family);
    return ended;
  };
}

function refreshesOf(
  db: Database,
  open: (row: SessionRow) => readonly string[],
  endFamily: (family: string) => readonly string[],
): RefreshStore {
  const find = db.prepare("select * from refreshes where digest = ?");
  const add = db.prepare("insert into refreshes values (?, ?, ?, ?, ?, ?)");
  const use = db.prepare(
    "update refreshes set used = 1, sealed = '' where digest = ? and used = 0",
  );
  const insert = (row: RefreshRow) => {
    const { digest, family, principal, sealed, expires, isUsed } = row;
    add.run(digest, family, principal, sealed, Math.floor(expires), isUsed ? 1 : 0);
  };
  return {
    add: (row) => writeSql(db, "the refresh reference", () => insert(row)),
    find: (digest) => {
      const row = find.get(digest);
      return row === undefined ? undefined : {
        digest: String(row.digest),
        family: String(row.family),
        principal: String(row.principal),
        sealed: String(row.sealed),
        expires: Number(row.expires),
        isUsed: Number(row.used) === 1,
      };
    },
    rotate: (digest, next, session) =>
      writeSql(db, "the refresh reference", () => {
        if (use.run(digest).changes !== 1) return undefined;
        insert(next);
        return open(session);
      }),
    endFamily: (family) => writeSql(db, "the end of a refresh reference", () => endFamily(family)),
  };
}
