/**
 * The port of accounts and groups.
 *
 * @module
 */

/** An account of the machine. */
export interface User {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** Accounts and groups. */
export interface Users {
  /** The effective uid of this process. */
  currentUid(): number;
  byName(name: string): Promise<User | undefined>;
  byUid(uid: number): Promise<User | undefined>;
  groupId(name: string): Promise<number | undefined>;
}
