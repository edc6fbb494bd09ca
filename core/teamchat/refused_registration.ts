/**
 * What the gateway tells a client whose registration it refuses. A peer without a token learns
 * nothing. A token that is signed for a known agent and its owner tells enough about its sender,
 * and the reason then stands in the dial log, where the operator looks. Pure.
 *
 * @module
 */

/** Reasons that are told, of those in `teamchat/register/gate.ts`. */
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
  // Which of the two is unknown is not told: names of agents cannot be tried out.
  const known = ["agent-unknown", "owner-mismatch"].includes(why) ? "owner-or-agent-unknown" : why;
  const told = TOLD.find((each) => each === known);
  return told === undefined ? "not authorized\n" : `not authorized: ${told}\n`;
}

/** Reads the reason of a refusal; undefined where none is told, or a gateway of another version. */
export function refusalReason(text: string): string | undefined {
  const reason = SAID.exec(text)?.[1];
  return TOLD.find((each) => each === reason);
}
