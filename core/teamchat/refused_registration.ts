/**
 * The reason that the gateway gives to a client whose registration it refuses. Only the sender of a
 * well-formed registration token gets a reason, and its client writes it to the dial log for the
 * operator. An unknown agent and an owner that does not match get the same reason. Any other peer
 * gets none. Pure.
 *
 * @module
 */

/** Reasons that are disclosed, out of those in `teamchat/register/check_registration.ts`. */
const DISCLOSED = [
  "token-expired",
  "token-from-the-future",
  "owner-or-agent-unknown",
  "other-gateway",
  "key-not-enrolled",
  "token-used",
] as const;
const BODY = /^not authorized: ([a-z-]{1,40})\n$/;

/** Returns the body of the refusal. */
export function refusalText(why: string): string {
  // Do not reveal which of the two is unknown, so that agent names cannot be probed.
  const known = ["agent-unknown", "owner-mismatch"].includes(why) ? "owner-or-agent-unknown" : why;
  const disclosed = DISCLOSED.find((each) => each === known);
  return disclosed === undefined ? "not authorized\n" : `not authorized: ${disclosed}\n`;
}

/** Parses the reason of a refusal; undefined without one, or from a gateway of another version. */
export function refusalReason(text: string): string | undefined {
  const reason = BODY.exec(text)?.[1];
  return DISCLOSED.find((each) => each === reason);
}
