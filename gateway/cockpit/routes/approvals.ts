/**
 * Approvals: calls that wait for the owner, and the owner's decision. A decision includes the
 * digest of the call that was shown, so it cannot apply to another call. The first decision
 * counts.
 *
 * @module
 */

import * as z from "zod";
import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import { APPROVAL_STATES } from "core/risk/approval.ts";
import { err, ok } from "core/result.ts";
import { denial } from "gateway/cockpit/deny.ts";
import { json } from "gateway/cockpit/reply.ts";
import { type Route, route } from "gateway/cockpit/route.ts";
import type { StoredApproval } from "gateway/approvals/approval_store.ts";

const agent = z.string().min(1).max(64);
const approval = z.object({
  approval_id: z.string(),
  agent: z.string(),
  turn_id: z.string().nullable(),
  /** Milliseconds since the epoch. */
  asked: z.number(),
  expires: z.number(),
  mcp: z.string().nullable(),
  version: z.string(),
  tool: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  origin: z.string(),
  is_destructive: z.boolean(),
  digest: z.string(),
  state: z.enum(APPROVAL_STATES),
  decision: z.enum(["approved", "denied"]).nullable(),
  by: z.string().nullable(),
  reason: z.string().nullable(),
  /** Whether the agent has received the decision. */
  is_confirmed: z.boolean(),
});

/** Routes about approvals. */
export const APPROVAL_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/api/approvals",
    summary: "Calls of an agent that await a decision or its effect",
    gate: "allowAgent",
    agents: ({ query }) => [query.agent],
    query: z.object({ agent }),
    answers: [{
      status: 200,
      description: "Open approvals, oldest first",
      mediaType: "application/json",
      schema: z.object({
        approvals: z.array(approval),
        /** Number of open questions of its programs: `GET /api/questions` returns them. */
        open_questions: z.number(),
      }),
    }],
    handle: async ({ deps }, { query }) => {
      const open = await deps.store.approvals.openOf([query.agent], deps.clock.now());
      const questions = await deps.store.questions.openOf(query.agent, deps.clock.now());
      return ok(json({ approvals: open.map(view), open_questions: questions.length }));
    },
  }),
  route({
    method: "POST",
    path: "/api/approvals/decide",
    summary: "Approve or deny a call; the first decision counts",
    gate: "allowAgent",
    agents: ({ body }) => [body.agent],
    body: z.object({
      agent,
      approval_id: z.string().min(1).max(64),
      digest: z.string().min(1).max(128),
      decision: z.enum(["approved", "denied"]),
      reason: z.string().trim().min(1).max(APPROVAL_LIMITS.reasonLengthMax).optional(),
    }),
    answers: [{
      status: 202,
      description: "The decision is stored and will reach the agent; events report the outcome",
      mediaType: "application/json",
      schema: approval,
    }],
    handle: async ({ deps, viewer }, { body }) => {
      if (viewer.kind !== "owner") return err(denial("viewer-denied"));
      const { approval_id: id, digest, decision, reason } = body;
      const decided = await deps.router.decideApproval({
        agent: body.agent,
        id,
        digest,
        decision,
        reason,
        by: `owner:${viewer.email}`,
        surface: "page",
        now: deps.clock.now(),
      });
      return decided.ok ? ok(json(view(decided.value), 202)) : decided;
    },
  }),
];

function view(of: StoredApproval): z.infer<typeof approval> {
  const { id, asked, turnId, decision, by, reason } = of;
  const { approval_id: _, ...call } = asked;
  return {
    ...call,
    approval_id: id,
    agent: of.agent,
    asked: of.at,
    state: of.state,
    turn_id: turnId ?? null,
    decision: decision ?? null,
    by: by ?? null,
    reason: reason ?? null,
    is_confirmed: of.isConfirmed,
  };
}
