/**
 * The caller of a verb: created once from the kernel's credentials, and passed explicitly. No
 * caller has implicit permissions. An unknown one is `other` and may run almost nothing. No I/O.
 * See `docs/access.md`.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";

/** The caller of a verb. */
export type Caller =
  | { readonly kind: "operator"; readonly uid: number }
  | { readonly kind: "admin"; readonly uid: number; readonly agent: AgentName }
  | { readonly kind: "agent"; readonly uid: number; readonly agent: AgentName }
  /**
   * The gateway's own user. It may only enroll an agent's first dial key, and show and choose an
   * agent's model for its owner.
   */
  | { readonly kind: "gateway"; readonly uid: number }
  /** The host's own dial unit. It may only run the verbs that are jobs of a host. */
  | { readonly kind: "host"; readonly uid: number }
  | { readonly kind: "other"; readonly uid: number };

/** Facts about the agent of a uid or a name. */
export interface KnownAgent {
  readonly name: AgentName;
  readonly isAdmin: boolean;
}

/** The facts that determine the caller of a uid. */
export interface CallerFacts {
  readonly uid: number;
  readonly root: string;
  /** Owner of the root folder; only read for a root other than `/`. */
  readonly rootOwner: number | undefined;
  /** The agent in this host's ledger whose Unix user has this uid. */
  readonly agent: KnownAgent | undefined;
  /** Root of another user or process namespace, such as a container's, not this host's. */
  readonly isContainerRoot?: boolean;
  /** Whether this uid is the user `GATEWAY_USER`. */
  readonly isGateway?: boolean;
  /** Whether this uid is the user `HOST_USER`. */
  readonly isHost?: boolean;
}

/** Account of the gateway on a real host; no agent can have this name (`core/names.ts`). */
export const GATEWAY_USER = "fleetctl-gateway";

/** Account of the host's own dial unit; no agent can have this name either. */
export const HOST_USER = "fleetctl-host";

/**
 * Returns the caller for a uid. Checked in order: root, the owner of a root folder other than `/`,
 * the gateway, the host's own unit, the agent of that uid; otherwise `other`. Under another root,
 * agents have no Unix users, so no uid is an agent.
 */
export function callerFor(facts: CallerFacts): Caller {
  const { uid } = facts;
  if (uid === 0) {
    const isContainerRoot = facts.root === "/" && facts.isContainerRoot === true;
    return { kind: isContainerRoot ? "other" : "operator", uid };
  }
  if (facts.root !== "/") {
    return facts.rootOwner === uid ? { kind: "operator", uid } : { kind: "other", uid };
  }
  if (facts.isGateway === true) return { kind: "gateway", uid };
  if (facts.isHost === true) return { kind: "host", uid };
  return facts.agent === undefined ? { kind: "other", uid } : agentCaller(uid, facts.agent);
}

function agentCaller(uid: number, agent: KnownAgent): Caller {
  return { kind: agent.isAdmin ? "admin" : "agent", uid, agent: agent.name };
}

/**
 * Returns the caller acting as `agent` (`--as`), which can only remove permissions. An operator may
 * act as any agent, an admin as itself or an ordinary agent, an agent as itself.
 */
export function actAs(caller: Caller, agent: KnownAgent): Result<Caller> {
  const isOwn = "agent" in caller && caller.agent === agent.name;
  const isDownwards = caller.kind === "operator" || isOwn ||
    (caller.kind === "admin" && !agent.isAdmin);
  if (isDownwards) return ok(agentCaller(caller.uid, agent));
  return err(actAsDenied(caller, agent.name));
}

/** Returns the refusal to act as another agent. It does not reveal whether that agent exists. */
export function actAsDenied(caller: Caller, as: string): Refusal {
  return refusal(
    "act-as-denied",
    `Cannot act as agent ${JSON.stringify(as.slice(0, 60))}: the caller is ` +
      `${callerText(caller)}, must have more rights than that agent`,
    { kind: "denied" },
  );
}

/** Returns the agent of a caller; undefined for a caller that is not an agent. */
export function callerAgent(caller: Caller): AgentName | undefined {
  return "agent" in caller ? caller.agent : undefined;
}

/** Returns whether the caller may see and change other agents' data on this host. */
export function isOperator(caller: Caller): boolean {
  return caller.kind === "operator" || caller.kind === "admin";
}

/** Returns whether the caller may see the state of every agent and role of this host. */
export function seesHost(caller: Caller): boolean {
  return isOperator(caller) || caller.kind === "host";
}

/** Names a caller in a message: `agent "ada"`, `the operator`, `uid 1004`. */
export function callerText(caller: Caller): string {
  switch (caller.kind) {
    case "operator":
      return "the operator";
    case "admin":
      return `admin agent "${caller.agent}"`;
    case "agent":
      return `agent "${caller.agent}"`;
    case "gateway":
      return "the gateway";
    case "host":
      return "the host's own dial unit";
    case "other":
      return caller.uid === 0
        ? "root of another namespace, not of this host"
        : `uid ${caller.uid}, not an agent of this host`;
  }
}
