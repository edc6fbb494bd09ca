/**
 * The assertions that go with requests to the cockpit (decision 18). The same request of the same
 * principal gets the same assertion for a few seconds, because signing it costs more than all the
 * rest of a small request.
 *
 * @module
 */

import {
  type Assertion,
  ASSERTION_SECONDS_MAX,
  type AssertionKeys,
  mintAssertion,
} from "core/access/assertion.ts";
import { LOGIN_LIMITS } from "core/limits.ts";
import type { Clock } from "core/ports.ts";
import { createRecent } from "core/recent.ts";

/** Returns the assertion of a request. */
export type Assertions = (assertion: Assertion) => Promise<string>;

/** Lives well past the time that it is handed out again. */
const SECONDS = Math.min(30, ASSERTION_SECONDS_MAX);

/** Creates the assertions of one ring of keys. */
export function createAssertions(keys: AssertionKeys, clock: Pick<Clock, "now">): Assertions {
  const recent = createRecent<{ readonly token: string; readonly at: number }>(
    LOGIN_LIMITS.signaturesKept,
  );
  return async (assertion) => {
    const now = clock.now();
    const key = JSON.stringify([assertion.subject, assertion.method, assertion.path]);
    const known = recent.get(key, now);
    // Not one from later than now: a clock that was set back must not hand out the future.
    if (known !== undefined && known.at <= now) return known.token;
    const token = await mintAssertion(keys, assertion, { nowMs: now, seconds: SECONDS });
    recent.keep(key, { token, at: now }, now + LOGIN_LIMITS.assertionKeptSeconds * 1000);
    return token;
  };
}
