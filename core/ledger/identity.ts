/**
 * The one identity check behind dial-in and cockpit: an e-mail address maps to an agent, or to
 * nothing (spec "Agent identity at the gateway", "Cockpit identity and scope"). Pure.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { type AgentName, type Email, parseEmail } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";

/** E-mail to agent, as `WEBVIEW_LEDGER` holds it. */
export type IdentityMap = ReadonlyMap<Email, AgentName>;

/** What a register frame claims. */
export interface IdentityClaim {
  readonly user_email: string;
  readonly agent: string;
}

/** Returns the agent of a login identity (lowercased, trimmed), or undefined: denied everything. */
export function agentOfEmail(identities: IdentityMap, userEmail: string): AgentName | undefined {
  const email = parseEmail(userEmail);
  return email.ok ? identities.get(email.value) : undefined;
}

/**
 * Accepts a claim whose e-mail maps to the very agent it names. The refusal is for the log; the
 * peer sees only that the connection was closed.
 */
export function checkIdentity(
  identities: IdentityMap,
  claim: IdentityClaim,
): Result<AgentName> {
  const agent = agentOfEmail(identities, claim.user_email);
  if (agent !== undefined && agent === claim.agent) return ok(agent);
  return err(refusal(
    "identity-mismatch",
    `Cannot register agent ${shown(claim.agent)}: user_email ${
      shown(claim.user_email)
    } not authorized`,
    { kind: "denied" },
  ));
}

function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
