/**
 * An approval: a human's decision about one call, valid once. Defines its states and transitions;
 * callers pass in times. No I/O.
 *
 * | State | Event | Next |
 * |---|---|---|
 * | asked | a human decides in time, about this call's digest | decided |
 * | asked | it expires without a decision | expired: a denial |
 * | decided | the caller has received the verdict | delivered; final for a denial |
 * | delivered, approved | the caller uses it, with the same digest, in time | applied |
 * | asked, decided, delivered | caller gone for good, turn ended, or rules changed | superseded |
 *
 * `applied` is final and is stored before the call is made. After a crash in between, the call was
 * not made. So no call is made twice.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import type { CallOrigin } from "core/mcp/call_origin.ts";
import { err, ok, type Result } from "core/result.ts";
import type { ToolCall } from "core/risk/call.ts";
import { toolText } from "core/risk/decide.ts";

/** States of an approval. */
export const APPROVAL_STATES = [
  "asked",
  "decided",
  "delivered",
  "applied",
  "expired",
  "superseded",
] as const;
/** One of `APPROVAL_STATES`. */
export type ApprovalState = typeof APPROVAL_STATES[number];

/** The decision of a human. */
export interface HumanVerdict {
  readonly decision: "approved" | "denied";
  /** Who decided: `owner:<email>` on the page, `the operator` on a command line. */
  readonly by: string;
  /** Where the decision was made: `page`, `cli`. */
  readonly surface: string;
  /** Sent to the model with a denial. */
  readonly reason?: string | undefined;
  readonly at: number;
}

/** One approval. */
export interface Approval {
  readonly id: string;
  readonly agent: string;
  /** Catalog name; empty for a tool of the runtime. */
  readonly mcp: string;
  readonly version: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly origin: CallOrigin;
  /** Digest of everything that the approval is bound to, including the policy. */
  readonly digest: string;
  /** True unless the tool declares itself non-destructive. */
  readonly isDestructive: boolean;
  /** The turn that the call belongs to; absent for a call from a command line. */
  readonly turnId?: string | undefined;
  readonly askedAt: number;
  readonly expiresAt: number;
  readonly state: ApprovalState;
  readonly verdict?: HumanVerdict | undefined;
}

/** Creates the approval of a call, in state `asked`. */
export function createApproval(
  call: ToolCall,
  of: {
    readonly id: string;
    readonly digest: string;
    readonly isDestructive: boolean;
    readonly turnId: string | undefined;
    readonly now: number;
    /** Time for a decision. */
    readonly askSeconds?: number | undefined;
  },
): Approval {
  const { agent, mcp, version, tool, origin } = call;
  return {
    id: of.id,
    agent,
    mcp,
    version,
    tool,
    arguments: call.arguments,
    origin,
    digest: of.digest,
    isDestructive: of.isDestructive,
    ...defined({ turnId: of.turnId }),
    askedAt: of.now,
    expiresAt: of.now + (of.askSeconds ?? APPROVAL_LIMITS.askSeconds) * 1000,
    state: "asked",
  };
}

/** Returns whether the approval can still change state. */
export function isOpen({ state, verdict }: Approval): boolean {
  return state === "asked" || state === "decided" ||
    (state === "delivered" && verdict?.decision === "approved");
}

/** Records a verdict. Only the first one counts, and only for the call that was shown. */
export function decideApproval(
  approval: Approval,
  verdict: HumanVerdict & { readonly digest: string },
): Result<Approval> {
  const { digest, ...given } = verdict;
  if (digest !== approval.digest) return err(otherCall(approval));
  if (approval.state === "asked" && given.at >= approval.expiresAt) return err(expired(approval));
  if (approval.state === "asked") return ok({ ...approval, state: "decided", verdict: given });
  if (approval.state === "expired") return err(expired(approval));
  if (approval.state === "superseded") return err(superseded(approval));
  return err(decidedBefore(approval));
}

/** Records that the caller has received the verdict. */
export function deliverApproval(approval: Approval): Approval {
  return approval.state === "decided" ? { ...approval, state: "delivered" } : approval;
}

/**
 * Uses an approval, once, for the call with this digest. `since` is when its caller began to wait:
 * a caller that had ended may return long after the decision.
 */
export function applyApproval(
  approval: Approval,
  of: { readonly digest: string; readonly now: number; readonly since?: number },
): Result<Approval> {
  const { state, verdict } = approval;
  if (state === "applied") return err(used(approval));
  if (state === "superseded") return err(superseded(approval));
  if (state !== "delivered" || verdict?.decision !== "approved") return err(notApproved(approval));
  if (of.digest !== approval.digest) return err(otherCall(approval));
  const since = Math.max(verdict.at, of.since ?? 0);
  const isStale = of.now >= since + APPROVAL_LIMITS.useSeconds * 1000;
  return isStale ? err(expired(approval)) : ok({ ...approval, state: "applied" });
}

/** Ends an open approval; undefined when it is closed already. */
export function endApproval(
  approval: Approval,
  state: "expired" | "superseded",
): Approval | undefined {
  return isOpen(approval) ? { ...approval, state } : undefined;
}

/** Returns the name of the person who decided, for messages. */
function deciderName(by: string): string {
  return by.startsWith("owner:") ? by.slice("owner:".length) : by;
}

/** Returns the refusal of a call that a human denied. The human's reason reaches the model. */
export function deniedByHuman(
  call: Pick<ToolCall, "mcp" | "tool">,
  verdict: { readonly by: string; readonly reason?: string | undefined },
) {
  const reason = verdict.reason === undefined ? "" : `: ${verdict.reason}`;
  return refusal(
    "approval-denied",
    `Cannot call tool ${toolText(call)}: ${
      deciderName(verdict.by)
    } denied it${reason}; nothing was done`,
    { kind: "denied" },
  );
}

/** Returns the refusal of a call whose approval expired or was withdrawn. */
export function undecidedRefusal(
  call: Pick<ToolCall, "mcp" | "tool">,
  state: "expired" | "superseded",
) {
  const code = state === "expired" ? "approval-expired" : "approval-superseded";
  const found = state === "expired"
    ? "it expired without a decision"
    : "the request was withdrawn before a decision";
  return refusal(code, `Cannot call tool ${toolText(call)}: ${found}; nothing was done`, {
    kind: "denied",
  });
}

function cannot(code: string, { id }: Approval, found: string) {
  return refusal(code, `Cannot decide about approval "${id}": ${found}`, {
    hints: ["fleetctl approvals list"],
  });
}
function otherCall(approval: Approval) {
  return cannot("approval-other-call", approval, "it is about another call than the one shown");
}
function expired(approval: Approval) {
  return cannot("approval-expired", approval, "it has expired, and the call was denied");
}
function superseded(approval: Approval) {
  return cannot("approval-superseded", approval, "the agent no longer waits for it");
}
function used(approval: Approval) {
  return cannot("approval-used", approval, "it was already used and is valid once");
}
function notApproved(approval: Approval) {
  return cannot("approval-not-given", approval, `it is ${approval.state} and was not approved`);
}
function decidedBefore(approval: Approval) {
  const { verdict } = approval;
  return cannot(
    "approval-decided",
    approval,
    verdict === undefined
      ? "it was already decided"
      : `it was already ${verdict.decision} by ${deciderName(verdict.by)}`,
  );
}
