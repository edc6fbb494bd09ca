/**
 * Assertions for requests to the cockpit. Equal requests of one principal reuse an assertion for a
 * few seconds, because signing costs more than the rest of a small request.
 *
 * @module
 */

import { type Assertion, type AssertionKeys, mintAssertion } from "core/access/assertion.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import type { Clock } from "core/ports/clock.ts";
import { createTtlCache } from "core/ttl_cache.ts";

/** Returns the assertion for a request. */
export type Assertions = (assertion: Assertion) => Promise<string>;

/** Creates assertions signed with a key ring. */
export function createAssertions(keys: AssertionKeys, clock: Pick<Clock, "now">): Assertions {
  const recent = createTtlCache<{ readonly token: string; readonly at: number }>(
    LOGIN_LIMITS.signaturesKept,
  );
  return async (assertion) => {
    const now = clock.now();
    const key = JSON.stringify([assertion.subject, assertion.method, assertion.path]);
    const known = recent.get(key, now);
    // Skip entries from the future, which exist after the clock was set back.
    if (known !== undefined && known.at <= now) return known.token;
    const token = await mintAssertion(keys, assertion, { nowMs: now });
    recent.keep(key, { token, at: now }, now + LOGIN_LIMITS.assertionKeptSeconds * 1000);
    return token;
  };
}
