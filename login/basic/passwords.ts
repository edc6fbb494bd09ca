/**
 * Checks a name and a password against the table of users. Timing reveals neither: an unknown name,
 * a plain password and a hashed one cost the same work, and texts are compared as digests.
 * Limits running and waiting checks; stores no password.
 *
 * @module
 */

import { areEqualBytes } from "core/crypto/constant_time.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import { costOf, isPasswordOf, type PasswordHash, type SlowHashes } from "core/login/password.ts";
import { type BasicUser, canonicalName } from "core/login/basic_users.ts";

/** The password check. */
export interface Passwords {
  /**
   * Returns the principal; undefined for a wrong name or password, `BUSY` if too many checks wait.
   */
  check(name: string, password: string): Promise<string | undefined | typeof BUSY>;
}

/** The check was not made. */
export const BUSY = Symbol("busy");

/** Computes the slow hashes, `atOnce` of them concurrently. */
export type HashPool = SlowHashes & { readonly atOnce: number };

/** Creates the check for a table of users. */
export function createPasswords(users: readonly BasicUser[], work: HashPool): Passwords {
  const byName = new Map(users.map((user) => [user.name, user]));
  /** One hash of each cost in the table: every check computes all of them. */
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

/** Does the same work for all names, known or not, so that timing reveals nothing. */
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

/** A FIFO semaphore: at most `atOnceMax` run and `waitingMax` wait. */
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
