/**
 * The caller of the cockpit. A viewer is an agent's owner, possibly an admin; all others are
 * denied. There is no operator without an agent. No I/O.
 *
 * @module
 */

import { agentOf, type IdentityLedger } from "core/access/identity.ts";
import type { AgentName } from "core/names.ts";

/** A caller of the cockpit. `reason` is for the log only. */
export type Viewer =
  | { readonly kind: "denied"; readonly reason: DenialReason }
  /** Root of the gateway's own host; it may only list connections. */
  | { readonly kind: "host" }
  | {
    readonly kind: "owner";
    readonly email: string;
    readonly agent: AgentName;
    readonly isAdmin: boolean;
  };

/** A viewer with an identity. */
export type Owner = Extract<Viewer, { kind: "owner" }>;

/** Why a caller is denied. */
export type DenialReason =
  | "identity-absent"
  | "identity-unknown"
  | "assertion-absent"
  | "assertion-invalid"
  | "assertion-other-identity";

/** What proves `X-User-Email`: a signed assertion, or the header alone. */
export type Trust = "assertion" | "header";

/** What a request claims about its caller. */
export interface ViewerClaim {
  readonly headerEmail: string | null;
  readonly assertion:
    | { readonly kind: "absent" }
    | { readonly kind: "invalid" }
    | { readonly kind: "verified"; readonly subject: string }
    | { readonly kind: "host" };
}

/** The ledger and the admins that viewers are looked up in. */
export interface Roster {
  readonly ledger: IdentityLedger;
  readonly admins: ReadonlySet<AgentName>;
  /** All agents of the ledger. */
  readonly agents: ReadonlySet<AgentName>;
}

/** Makes a roster. */
export function rosterOf(ledger: IdentityLedger, admins: Iterable<AgentName>): Roster {
  return { ledger, admins: new Set(admins), agents: new Set(ledger.values()) };
}

/** Reports whether an owner still owns the same agent and is an admin as before. */
export function isUnchanged(viewer: Owner, roster: Roster): boolean {
  return agentOf(roster.ledger, viewer.email) === viewer.agent &&
    roster.admins.has(viewer.agent) === viewer.isAdmin;
}

/** Decides who the caller is; denies every claim that is not exactly right. */
export function decideViewer(claim: ViewerClaim, trust: Trust, roster: Roster): Viewer {
  if (claim.assertion.kind === "host") {
    return claim.headerEmail === null
      ? { kind: "host" }
      : { kind: "denied", reason: "assertion-other-identity" };
  }
  const email = (claim.headerEmail ?? "").trim().toLowerCase();
  if (email === "") return { kind: "denied", reason: "identity-absent" };
  if (trust === "assertion") {
    if (claim.assertion.kind === "absent") return { kind: "denied", reason: "assertion-absent" };
    if (claim.assertion.kind === "invalid") return { kind: "denied", reason: "assertion-invalid" };
    if (claim.assertion.subject.trim().toLowerCase() !== email) {
      return { kind: "denied", reason: "assertion-other-identity" };
    }
  }
  const agent = agentOf(roster.ledger, email);
  if (agent === undefined) return { kind: "denied", reason: "identity-unknown" };
  return { kind: "owner", email, agent, isAdmin: roster.admins.has(agent) };
}
