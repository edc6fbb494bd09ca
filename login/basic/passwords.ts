/**
 * Checks a name and a password against the table of users. The time depends on neither: an unknown
 * name, a plain entry and a hashed one cost the same work, and texts are compared as digests.
 * Bounds how many checks run at once; keeps no password.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits.ts";
import { areEqualBytes, isPasswordOf, spendIterations } from "core/password.ts";
import { type BasicUser, canonicalName } from "core/basic_users.ts";

/** The check. */
export interface Passwords {
  /** Returns the principal; undefined for a wrong name or password. */
  check(name: string, password: string): Promise<string | undefined>;
}

/** Creates the check for a table of users. */
export function createPasswords(users: readonly BasicUser[]): Passwords {
  const byName = new Map(users.map((user) => [user.name, user]));
  const most = Math.max(0, ...users.map(iterationsOf));
  const gate = createGate(LOGIN_LIMITS.checksAtOnceMax);
  return {
    check: async (given, password) => {
      const name = canonicalName(given);
      const isLong = password.length > LOGIN_LIMITS.passwordLengthMax ||
        name.length > LOGIN_LIMITS.nameLengthMax;
      const user = isLong ? undefined : byName.get(name);
      const text = isLong ? "" : password;
      return await gate(async () => {
        const left = most - (user === undefined ? 0 : iterationsOf(user));
        if (left > 0) await spendIterations(text, left);
        return await isRight(user, text) ? user?.name : undefined;
      });
    },
  };
}

function iterationsOf({ credential }: BasicUser): number {
  return credential.kind === "hash" ? credential.hash.iterations : 0;
}

async function isRight(user: BasicUser | undefined, given: string): Promise<boolean> {
  const isPlain = user?.credential.kind === "plain";
  // Done for every user, so that a plain entry is not told from another by its time.
  const isSame = areEqualBytes(
    await digest(given),
    await digest(user?.credential.kind === "plain" ? user.credential.password : ""),
  );
  if (user?.credential.kind === "hash") return await isPasswordOf(given, user.credential.hash);
  return isPlain && isSame;
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** Lets at most `max` pieces of work run at once, in the order of arrival. */
function createGate(max: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= max) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
