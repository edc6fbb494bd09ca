/**
 * Lines on the dial unit's local socket: how the agent's own programs write to other agents and to
 * the owner. One
 * JSON object per line and one answer per request, in order. The socket is 0600 in the
 * agent's home.
 *
 * @module
 */

import { z } from "zod";
import { defined } from "core/defined.ts";
import { previewEvent } from "core/dial/event.ts";
import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import { type Approval, APPROVAL_STATES } from "core/risk/approval.ts";
import { originText } from "core/mcp/call_origin.ts";

const id = z.string().min(1).max(64);

/** An approval as it is shown. */
const approvalView = z.object({
  id: z.string(),
  agent: z.string(),
  mcp: z.string(),
  version: z.string(),
  tool: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  origin: z.string(),
  digest: z.string(),
  is_destructive: z.boolean(),
  turn_id: z.string().optional(),
  asked: z.number(),
  expires: z.number(),
  state: z.enum(APPROVAL_STATES),
  decision: z.enum(["approved", "denied"]).optional(),
  by: z.string().optional(),
  surface: z.string().optional(),
  reason: z.string().optional(),
});
/** Parsed view of an approval. */
export type ApprovalView = z.infer<typeof approvalView>;

/** Program of the agent → dial unit. */
export const localRequest = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("message"),
    to: z.string().min(1).max(64),
    text: z.string(),
    /** Makes a repeated request harmless; made up by the dial unit when absent. */
    id: z.string().min(1).max(64).optional(),
  }),
  z.object({ type: z.literal("agents") }),
  /** A message to the agent's owner at team chat. */
  z.object({
    type: z.literal("owner_message"),
    text: z.string(),
    id: z.string().min(1).max(64).optional(),
  }),
  /** Offers a file of the folder `send` to the agent's owner at team chat. */
  z.object({
    type: z.literal("owner_file"),
    name: z.string().min(1).max(256),
    description: z.string().max(1_000),
    id: z.string().min(1).max(64).optional(),
  }),
  /** Asks a human; the connection waits for the decision, and its end withdraws the question. */
  z.object({
    type: z.literal("approval_ask"),
    mcp: z.string().max(64),
    version: z.string().max(256),
    tool: z.string().max(1024),
    arguments: z.record(z.string(), z.unknown()),
    origin: z.unknown(),
    policy: z.string().max(128),
    is_destructive: z.boolean(),
  }),
  /** Claims the approval of this connection, once, for the call with this digest. */
  z.object({ type: z.literal("approval_use"), id, digest: z.string().max(128) }),
  z.object({ type: z.literal("approvals") }),
  /** From root, or the owner of a root other than `/`; never from the agent itself. */
  z.object({
    type: z.literal("approval_decide"),
    /** Whose approval is meant; an older command line leaves it out. */
    agent: z.string().min(1).max(64).optional(),
    id,
    digest: z.string().max(128),
    decision: z.enum(["approved", "denied"]),
    by: z.string().min(1).max(128),
    reason: z.string().min(1).max(APPROVAL_LIMITS.reasonLengthMax).optional(),
  }),
  /**
   * A turn, from root or the owner of a root other than `/`. The connection then shows its events
   * until its end; the end of the connection leaves the turn as it is.
   */
  z.object({
    type: z.literal("turn"),
    agent: z.string().min(1).max(64),
    text: z.string(),
    by: z.string().min(1).max(128),
  }),
  /**
   * From our proxy: the program has listed the tools of this MCP. Holds while the connection does.
   */
  z.object({ type: z.literal("mcp_listed"), mcp: z.string().min(1).max(64) }),
  /** Cancels the turn of this connection. */
  z.object({ type: z.literal("turn_cancel") }),
]);
/** Parsed request. */
export type LocalRequest = z.infer<typeof localRequest>;

/** Dial unit → program of the agent. */
export const localAnswer = z.union([
  z.discriminatedUnion("ok", [
    z.object({ type: z.literal("message_result"), ok: z.literal(true) }),
    z.object({
      type: z.literal("message_result"),
      ok: z.literal(false),
      code: z.string(),
      message: z.string(),
    }),
  ]),
  z.object({ type: z.literal("agents_result"), names: z.array(z.string()) }),
  /** What became of it; `pending` while the gateway does not know. */
  z.object({
    type: z.literal("owner_message_result"),
    outcome: z.string(),
    ids: z.array(z.string()),
    reason: z.string().optional(),
  }),
  z.object({ type: z.literal("approval_asked"), id, expires: z.number() }),
  /** `expired` and `superseded` deny: nobody decided. */
  z.object({
    type: z.literal("approval_answer"),
    id,
    outcome: z.enum(["approved", "denied", "expired", "superseded"]),
    by: z.string().optional(),
    reason: z.string().optional(),
  }),
  z.object({ type: z.literal("approval_used"), id }),
  z.object({ type: z.literal("approvals_result"), approvals: z.array(approvalView) }),
  z.object({ type: z.literal("approval_result"), approval: approvalView }),
  z.object({ type: z.literal("turn_accepted"), turn_id: id }),
  /** A durable event of the turn; `turn_ended` is the last one. */
  z.object({
    type: z.literal("turn_event"),
    kind: z.string(),
    payload: z.record(z.string(), z.unknown()),
  }),
  z.object({ type: z.literal("turn_preview"), event: previewEvent }),
  /** The request could not be read or answered. */
  z.object({ type: z.literal("error"), code: z.string(), message: z.string() }),
]);
/** Parsed answer. */
export type LocalAnswer = z.infer<typeof localAnswer>;

/** Shows an approval; keys are those of the wire. */
export function viewOf(approval: Approval): ApprovalView {
  const { verdict } = approval;
  return {
    id: approval.id,
    agent: approval.agent,
    mcp: approval.mcp,
    version: approval.version,
    tool: approval.tool,
    arguments: { ...approval.arguments },
    origin: originText(approval.origin),
    digest: approval.digest,
    is_destructive: approval.isDestructive,
    ...defined({ turn_id: approval.turnId }),
    asked: approval.askedAt,
    expires: approval.expiresAt,
    state: approval.state,
    ...(verdict === undefined
      ? {}
      : { decision: verdict.decision, by: verdict.by, surface: verdict.surface }),
    ...(verdict?.reason === undefined ? {} : { reason: verdict.reason }),
  };
}
