/**
 * SQLite through `node:sqlite`: WAL, `synchronous=FULL`, files 0600, file errors as `FileFault`.
 * Contains no schema; each store defines its own.
 *
 * @module
 */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { errorText } from "core/errors.ts";
import type { Database, Databases, Statement } from "core/ports/databases.ts";
import { FileFault } from "core/ports/files.ts";
import { fileFault, posixCode } from "core/os/file_fault.ts";
import { setMeta } from "core/os/file_meta.ts";

const FILE_MODE = 0o600;
/** How long a writer waits for another one before it fails. */
const BUSY_MS_MAX = 5_000;

/** Result codes of SQLite that callers distinguish, and the state that each describes. */
const CODES: Readonly<Record<number, readonly [code: string, state: string]>> = {
  3: ["EACCES", "permission denied"],
  5: ["EIO", "another program keeps the database locked"],
  8: ["EROFS", "the database is read-only"],
  10: ["EIO", "the disk failed"],
  11: ["EIO", "the database is damaged"],
  13: ["ENOSPC", "no space left on the disk"],
  14: ["EACCES", "the file cannot be opened"],
  26: ["EIO", "the file is not a database"],
  // SQLite could not extend the WAL index.
  4874: ["ENOSPC", "no space left on the disk"],
};

/** `exec` throws without a code. These are SQLite's own messages for the codes above. */
const CODE_OF_TEXT: Readonly<Record<string, number>> = {
  "access permission denied": 3,
  "database is locked": 5,
  "attempt to write a readonly database": 8,
  "disk I/O error": 10,
  "database disk image is malformed": 11,
  "database or disk is full": 13,
  "unable to open database file": 14,
  "file is not a database": 26,
};

/** Returns the machine's databases. */
export function sqliteDatabases(): Databases {
  return { open };
}

async function open(path: string): Promise<Database> {
  const { DatabaseSync } = await import("node:sqlite");
  await prepareFile(path);
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { timeout: BUSY_MS_MAX, enableForeignKeyConstraints: true });
    const { journal_mode: mode } = db.prepare("PRAGMA journal_mode = WAL").get() ?? {};
    if (mode !== "wal") throw new Error(`journal mode is ${JSON.stringify(mode)}, must be "wal"`);
    db.exec("PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF");
    return createDatabase(path, db);
  } catch (thrown) {
    if (db?.isOpen === true) db.close();
    throw sqliteFault("open", path, thrown);
  }
}

/**
 * Creates the file before SQLite does, which would make it world-readable. The WAL inherits its
 * mode.
 */
async function prepareFile(path: string): Promise<void> {
  try {
    await makeFile(path);
    const seen = await Deno.lstat(path);
    if (seen.isSymlink) throw new Deno.errors.FilesystemLoop("it is a link");
    if (seen.isDirectory) throw new Deno.errors.IsADirectory("it is a folder");
    if (!seen.isFile) throw new Error("it is not a regular file");
    await setMeta(path, seen, { mode: FILE_MODE });
  } catch (thrown) {
    throw fileFault("open", path, thrown);
  }
}

async function makeFile(path: string): Promise<void> {
  try {
    (await Deno.open(path, { createNew: true, write: true, mode: FILE_MODE })).close();
  } catch (thrown) {
    if (posixCode(thrown) !== "EEXIST") throw thrown;
  }
}

/** Wraps an open connection as a `Database`; errors name `path`. */
export function createDatabase(path: string, db: DatabaseSync): Database {
  const guard = <T>(work: () => T): T => {
    try {
      return work();
    } catch (thrown) {
      throw sqliteFault("use", path, thrown);
    }
  };
  return {
    exec: (sql) => guard(() => db.exec(sql)),
    prepare: (sql) => createStatement(guard(() => db.prepare(sql)), guard),
    transaction: (work) => runTransaction(db, work, guard),
    close: () => {
      if (db.isOpen) db.close();
    },
  };
}

function createStatement(
  statement: StatementSync,
  guard: <T>(work: () => T) => T,
): Statement {
  return {
    run: (...values) =>
      guard(() => {
        const { changes, lastInsertRowid } = statement.run(...values);
        return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) };
      }),
    get: (...values) => guard(() => statement.get(...values)),
    all: (...values) => guard(() => statement.all(...values)),
  };
}

/**
 * IMMEDIATE takes the write lock at once, so that a read followed by a write cannot fail midway.
 */
function runTransaction<T>(
  db: DatabaseSync,
  work: () => T,
  guard: <R>(work: () => R) => R,
): T {
  if (db.isTransaction) throw new Error("Cannot start a transaction: one is open already");
  guard(() => db.exec("BEGIN IMMEDIATE"));
  try {
    const value = work();
    if (value instanceof Promise) {
      throw new TypeError("Cannot commit a transaction: its work is asynchronous, must not be");
    }
    guard(() => db.exec("COMMIT"));
    return value;
  } finally {
    // SQLite rolls back by itself in some cases, such as a full disk.
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

/** Converts file errors to `FileFault`; returns errors in a statement unchanged. */
function sqliteFault(action: string, path: string, thrown: unknown): unknown {
  const code = (thrown as { errcode?: unknown }).errcode ?? CODE_OF_TEXT[errorText(thrown)];
  const known = typeof code === "number" ? CODES[code] ?? CODES[code & 0xff] : undefined;
  if (known === undefined) {
    return action === "open" ? fileFault(action, path, thrown) : thrown;
  }
  const [posix, state] = known;
  return new FileFault(
    posix,
    path,
    `Cannot ${action} ${JSON.stringify(path)}: ${state} (${errorText(thrown)})`,
  );
}
