/**
 * Decides about a register frame and formats the two log lines. No I/O: the keys and the outcome
 * of the proof are arguments. The peer learns only "not authorized"; the log contains the reason.
 *
 * | Agent's keys | Proof | Decision |
 * |---|---|---|
 * | any | identity does not map to the agent | reject |
 * | enrolled | valid, by an enrolled key | accept |
 * | enrolled | absent, invalid, or by another key | reject |
 * | all revoked | any | reject |
 * | none ever | valid | accept and enroll |
 * | none ever | invalid | reject |
 * | none ever | absent | accept, unless each agent must prove a key |
 *
 * A host's own unit (`host:<hostname>`) has no identity in the ledger. It must prove an enrolled
 * key; a first proof never enrolls one.
 *
 * @module
 */

import { checkIdentity, type IdentityFault, type IdentityLedger } from "core/access/identity.ts";
import { HOST_PREFIX } from "core/dial/host_job.ts";
import type { RegisterFrame } from "core/dial/server_session.ts";
import { parseHostName } from "core/names.ts";

/** Result of checking the proof in a frame. */
export type ProofOutcome = "absent" | "valid" | "invalid" | "no-challenge" | "other-gateway";

/** Inputs of the decision. */
export interface RegisterFacts {
  readonly frame: RegisterFrame;
  readonly ledger: IdentityLedger;
  /** Empty when all were revoked; undefined when there never was one. */
  readonly enrolledKeys: readonly string[] | undefined;
  readonly proof: ProofOutcome;
  readonly isKeyRequired: boolean;
}

/** Why a registration is refused; for the log. */
export type RegisterReason =
  | IdentityFault
  | "host-name-invalid"
  | "key-not-enrolled"
  | "proof-absent"
  | "proof-invalid"
  | "proof-without-challenge"
  | "proof-for-another-gateway";

/** The decision. */
export type RegisterDecision =
  | { readonly accept: true; readonly agent: string; readonly enroll: string | undefined }
  | { readonly accept: false; readonly reason: RegisterReason };

/** Characters of a name that a log line contains. */
const SHOWN_LENGTH_MAX = 80;

/** Decides about one register frame. */
export function decideRegister(facts: RegisterFacts): RegisterDecision {
  const { frame } = facts;
  if (frame.agent.startsWith(HOST_PREFIX)) return decideHost(facts);
  const identity = checkIdentity(facts.ledger, frame.user_email, frame.agent);
  if (!identity.ok) return { accept: false, reason: identity.error };
  const fault = proofFault(facts.proof);
  if (fault !== undefined) return { accept: false, reason: fault };
  if (facts.proof === "valid") {
    if (facts.enrolledKeys === undefined) {
      return { accept: true, agent: identity.value, enroll: frame.key };
    }
    return facts.enrolledKeys.includes(frame.key ?? "")
      ? { accept: true, agent: identity.value, enroll: undefined }
      : { accept: false, reason: "key-not-enrolled" };
  }
  return facts.enrolledKeys !== undefined || facts.isKeyRequired
    ? { accept: false, reason: "proof-absent" }
    : { accept: true, agent: identity.value, enroll: undefined };
}

function decideHost(facts: RegisterFacts): RegisterDecision {
  const { frame } = facts;
  const host = parseHostName(frame.agent.slice(HOST_PREFIX.length));
  if (!host.ok) return { accept: false, reason: "host-name-invalid" };
  const fault = proofFault(facts.proof);
  if (fault !== undefined) return { accept: false, reason: fault };
  if (facts.proof !== "valid") return { accept: false, reason: "proof-absent" };
  return facts.enrolledKeys?.includes(frame.key ?? "")
    ? { accept: true, agent: `${HOST_PREFIX}${host.value}`, enroll: undefined }
    : { accept: false, reason: "key-not-enrolled" };
}

function proofFault(proof: ProofOutcome): RegisterReason | undefined {
  if (proof === "invalid") return "proof-invalid";
  if (proof === "no-challenge") return "proof-without-challenge";
  return proof === "other-gateway" ? "proof-for-another-gateway" : undefined;
}

/** The log line of an accepted registration. */
export function acceptedLine(agent: string, userEmail: string): string {
  return `register accepted agent=${shown(agent)} (user_email ${shown(normal(userEmail))})`;
}

/** The log line of a refused registration. */
export function rejectedLine(agent: string, userEmail: string, reason: string): string {
  return `register rejected agent=${shown(agent)} ` +
    `(user_email ${shown(normal(userEmail))} not authorized) reason=${reason}`;
}

function normal(userEmail: string): string {
  return userEmail.trim().toLowerCase();
}

/** Quotes a peer's text so that it cannot end the line or forge another one. */
function shown(text: string): string {
  const cut = text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text;
  return JSON.stringify(cut).replace(/[\u007f-\u009f\u2028\u2029]/g, "?");
}
