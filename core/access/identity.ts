/**
 * The identity check for dial-in and the cockpit: which agent a login identity owns. No I/O.
 *
 * @module
 */

import { type AgentName, type Email, parseEmail } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";

/** `WEBVIEW_LEDGER`, parsed: lowercase identity → agent. */
export type IdentityLedger = ReadonlyMap<Email, AgentName>;

/** Returns the agent that an identity owns; undefined for an empty or unknown one. */
export function agentOf(ledger: IdentityLedger, identity: string): AgentName | undefined {
  const email = parseEmail(identity);
  return email.ok ? ledger.get(email.value) : undefined;
}

/** Why an identity may not act as an agent. */
export type IdentityFault = "identity-empty" | "identity-unknown" | "identity-mismatch";

/** Checks that the identity, trimmed and in lowercase, owns exactly this agent. */
export function checkIdentity(
  ledger: IdentityLedger,
  userEmail: string,
  agent: string,
): Result<AgentName, IdentityFault> {
  if (userEmail.trim() === "") return err("identity-empty");
  const owned = agentOf(ledger, userEmail);
  if (owned === undefined) return err("identity-unknown");
  return owned === agent ? ok(owned) : err("identity-mismatch");
}
