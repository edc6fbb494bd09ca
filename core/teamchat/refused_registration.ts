/**
 * The reason that the gateway gives to a client whose registration it refuses. A peer without a
 * token gets no reason. A token signed for a known agent and its owner identifies its sender well
 * enough. Its client gets the reason and writes it to the dial log, for the operator. Pure.
 *
 * @module
 */

/** Reasons that are reported, out of those in `teamchat/register/gate.ts`. */
const TOLD = [
  "token-expired",
  "token-from-the-future",
  "owner-or-agent-unknown",
  "other-gateway",
  "key-not-enrolled",
  "token-used",
] as const;
const SAID = /^not authorized: ([a-z-]{1,40})\n$/;

/** Returns the body of the refusal. */
export function refusalText(why: string): string {
  // Do not reveal which of the two is unknown, so that agent names cannot be probed.
  const known = ["agent-unknown", "owner-mismatch"].includes(why) ? "owner-or-agent-unknown" : why;
  const told = TOLD.find((each) => each === known);
  return told === undefined ? "not authorized\n" : `not authorized: ${told}\n`;
}

/** Parses the reason of a refusal; undefined without one, or from a gateway of another version. */
export function refusalReason(text: string): string | undefined {
  const reason = SAID.exec(text)?.[1];
  return TOLD.find((each) => each === reason);
}
