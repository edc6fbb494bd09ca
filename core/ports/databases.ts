/**
 * The port of SQLite.
 *
 * @module
 */

/** A value that SQLite can store. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** A prepared statement. */
export interface Statement {
  run(
    ...values: readonly SqlValue[]
  ): { readonly changes: number; readonly lastInsertRowid: number };
  get(...values: readonly SqlValue[]): Readonly<Record<string, SqlValue>> | undefined;
  all(...values: readonly SqlValue[]): readonly Readonly<Record<string, SqlValue>>[];
}

/**
 * One SQLite database in WAL mode with `synchronous=FULL`: a committed write survives a power cut.
 */
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  /** Runs `work` in one transaction; rolls back when it throws. Not nested. */
  transaction<T>(work: () => T): T;
  close(): void;
}

/** Opens databases. */
export interface Databases {
  /** Opens or creates the file 0600; rejects with `FileFault` (`ENOSPC`, `EACCES`, …). */
  open(path: string): Promise<Database>;
}
