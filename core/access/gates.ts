/**
 * The gates of the cockpit. Each route names one, and this file decides who passes. No I/O.
 *
 * | Gate | Passes |
 * |---|---|
 * | open | every caller that reaches the listener |
 * | loopback | a local program; never a request through a proxy |
 * | viewer | an identity of the ledger |
 * | allowAgent | the owner of every agent that the request names, or an admin |
 * | fleetView | an admin |
 * | hostView | root of the gateway's own host, with a host assertion; no other gate admits it |
 *
 * @module
 */

import type { Viewer } from "core/access/viewer.ts";

/** Names of the gates. */
export const GATES = ["open", "loopback", "viewer", "allowAgent", "fleetView", "hostView"] as const;
/** One of `GATES`. */
export type Gate = typeof GATES[number];

/** What a gate checks. */
export interface GateInput {
  readonly viewer: Viewer;
  /** The TCP peer is this host, and no header indicates a proxy in between. */
  readonly isLocalProgram: boolean;
  /** Agents that the request names; empty for gates without agents. */
  readonly agents: readonly string[];
}

/** The decision; `code` is public, `reason` is for the log. */
export type GateDecision =
  | { readonly allow: true }
  | { readonly allow: false; readonly code: GateDenial; readonly reason: string };

/** Public codes of denials. */
export type GateDenial =
  | "viewer-denied"
  | "agent-denied"
  | "fleet-denied"
  | "host-denied"
  | "local-only";

const ALLOW: GateDecision = { allow: true };

/** Decides whether a request passes its gate. */
export function decideGate(gate: Gate, input: GateInput): GateDecision {
  const { viewer } = input;
  if (gate === "open") return ALLOW;
  if (gate === "loopback") {
    if (input.isLocalProgram) return ALLOW;
    return { allow: false, code: "local-only", reason: "not-a-local-program" };
  }
  if (viewer.kind === "denied") {
    return { allow: false, code: "viewer-denied", reason: viewer.reason };
  }
  if (gate === "hostView") {
    if (viewer.kind === "host") return ALLOW;
    return { allow: false, code: "host-denied", reason: "not-root-of-this-host" };
  }
  if (viewer.kind === "host") {
    return { allow: false, code: "viewer-denied", reason: "root-is-no-viewer" };
  }
  switch (gate) {
    case "viewer":
      return ALLOW;
    case "fleetView":
      if (viewer.isAdmin) return ALLOW;
      return { allow: false, code: "fleet-denied", reason: "not-an-admin" };
    case "allowAgent": {
      if (input.agents.length === 0) {
        return { allow: false, code: "agent-denied", reason: "no-agent-named" };
      }
      const notOwned = input.agents.find((agent) => agent !== viewer.agent);
      if (notOwned === undefined || viewer.isAdmin) return ALLOW;
      return { allow: false, code: "agent-denied", reason: `not-the-owner-of-${notOwned}` };
    }
  }
}
