/**
 * The durable events about approvals. Pure.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { originText } from "core/mcp/call_origin.ts";
import type { Approval } from "core/risk/approval.ts";
import type { EventDraft } from "units/dial/store.ts";

/** An event about an approval. */
export type ApprovalEvent = Pick<EventDraft, "kind" | "payload">;

/** A call waits for a person. */
export function askedEvent(approval: Approval): ApprovalEvent {
  const { id, mcp, version, tool, origin, isDestructive, expiresAt, digest } = approval;
  return {
    kind: "approval_asked",
    payload: {
      approval_id: id,
      mcp: mcp === "" ? null : mcp,
      version,
      tool,
      digest,
      arguments: approval.arguments,
      origin: originText(origin),
      is_destructive: isDestructive,
      expires: expiresAt,
    },
  };
}

/** A person decided. */
export function decidedEvent({ id, verdict }: Approval): ApprovalEvent {
  const { decision, by, surface, reason } = verdict ?? {};
  return {
    kind: "approval_decided",
    payload: { approval_id: id, decision, by, surface, ...defined({ reason }) },
  };
}

/** The approval is closed. */
export function endedEvent(id: string, state: string): ApprovalEvent {
  return { kind: "approval_ended", payload: { approval_id: id, state } };
}
