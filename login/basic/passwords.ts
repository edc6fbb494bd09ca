/**
 * Checks a name and a password against the table of users. The time depends on neither: an unknown
 * name, a plain entry and a hashed one cost the same work, and texts are compared as digests.
 * Bounds how many checks run at once and how many wait for that; keeps no password.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits.ts";
import {
  areEqualBytes,
  costOf,
  isPasswordOf,
  type PasswordHash,
  type SlowHashes,
} from "core/password.ts";
import { type BasicUser, canonicalName } from "core/basic_users.ts";

/** The check. */
export interface Passwords {
  /**
   * Returns the principal; undefined for a wrong name or password, `busy` when so many checks wait
   * that this one is not made.
   */
  check(name: string, password: string): Promise<string | undefined | typeof BUSY>;
}

/** A check that was not made. */
export const BUSY = Symbol("busy");

/** What computes the hashes, and how many of them at once. */
export type HashWork = SlowHashes & { readonly atOnce: number };

/** Creates the check for a table of users. */
export function createPasswords(users: readonly BasicUser[], work: HashWork): Passwords {
  const byName = new Map(users.map((user) => [user.name, user]));
  /** One hash of each cost in the table: every check does the work of all of them. */
  const costs = new Map(users.flatMap((user) => {
    const hash = hashOf(user);
    return hash === undefined ? [] : [[costOf(hash), hash]];
  }));
  const gate = createGate(work.atOnce, LOGIN_LIMITS.checksWaitingMax);
  return {
    check: async (given, password) => {
      const name = canonicalName(given);
      const isLong = password.length > LOGIN_LIMITS.passwordLengthMax ||
        name.length > LOGIN_LIMITS.nameLengthMax;
      const user = isLong ? undefined : byName.get(name);
      const text = isLong ? "" : password;
      return await gate(async () =>
        await isRight(user, text, { costs, work }) ? user?.name : undefined
      );
    },
  };
}

function hashOf({ credential }: BasicUser): PasswordHash | undefined {
  return credential.kind === "hash" ? credential.hash : undefined;
}

/** Does the same work for every user and for nobody, so that time tells none from another. */
async function isRight(
  user: BasicUser | undefined,
  given: string,
  { costs, work }: {
    readonly costs: ReadonlyMap<string, PasswordHash>;
    readonly work: SlowHashes;
  },
): Promise<boolean> {
  const plain = user?.credential.kind === "plain" ? user.credential.password : undefined;
  const isSame = areEqualBytes(await digest(given), await digest(plain ?? ""));
  let isRight = plain !== undefined && isSame;
  const own = user === undefined ? undefined : hashOf(user);
  for (const [cost, hash] of costs) {
    const isOwn = own !== undefined && costOf(own) === cost;
    const hit = await isPasswordOf(given, isOwn ? own : hash, work);
    if (isOwn) isRight = hit;
  }
  return isRight;
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** Lets at most `atOnceMax` pieces of work run at once, in the order of arrival, and few wait. */
function createGate(
  atOnceMax: number,
  waitingMax: number,
): <T>(work: () => Promise<T>) => Promise<T | typeof BUSY> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= atOnceMax) {
      if (waiting.length >= waitingMax) return BUSY;
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
