/**
 * Turns: queue one for an agent, cancel one, send a waiting one into the running one. A turn is
 * stored before it is acknowledged. A repeated idempotency key with the same agent, text and
 * conversation yields the stored turn, as long as it is kept.
 *
 * @module
 */

import * as z from "zod";
import { byteLength } from "core/text/cut_text.ts";
import { conversationName, namedConversation } from "core/dial/conversation.ts";
import { refusal } from "core/errors.ts";
import { TURN_LIMITS } from "core/limits/turn.ts";
import { err, ok } from "core/result.ts";
import { formatCursor } from "gateway/cockpit/cursor.ts";
import { json } from "gateway/cockpit/reply.ts";
import { conversationFault } from "gateway/cockpit/routes/conversations.ts";
import { type Route, route } from "gateway/cockpit/route.ts";

const agent = z.string().min(1).max(64);
const turnAnswer = z.object({
  turn_id: z.string(),
  state: z.enum(["queued", "sent", "delivered", "started", "ended"]),
  /** Id of the turn's first event: a stream opened after it shows the events that follow. */
  cursor: z.string(),
});
const text = z.string()
  .refine((given) => given.trim() !== "", "must contain text")
  .refine(
    (given) => byteLength(given) <= TURN_LIMITS.textBytesMax,
    `must be at most ${TURN_LIMITS.textBytesMax} bytes`,
  );

/** Routes about turns. */
export const TURN_ROUTES: readonly Route[] = [
  route({
    method: "POST",
    path: "/api/turns",
    summary: "Queue a turn for an agent",
    gate: "allowAgent",
    agents: ({ body }) => [body.agent],
    headers: z.object({
      "idempotency-key": z.string().regex(
        new RegExp(`^[\\x21-\\x7e]{1,${TURN_LIMITS.idempotencyKeyLengthMax}}$`),
        "must be a key of printable characters without spaces, new for each turn",
      ),
    }),
    body: z.object({ agent, text, conversation: conversationName.optional() }),
    answers: [{
      status: 202,
      description: "The turn is stored and will reach the agent exactly once",
      mediaType: "application/json",
      schema: turnAnswer,
    }],
    handle: async ({ deps, viewer }, { headers, body }) => {
      if (viewer.kind !== "owner") return err(noSuchAgent(body.agent));
      if (!new Set<string>(deps.roster.current().agents).has(body.agent)) {
        return err(noSuchAgent(body.agent));
      }
      const fault = conversationFault(deps, body.agent, body.conversation);
      if (fault !== undefined) return err(fault);
      const queued = await deps.router.queueTurn({
        turnId: deps.random.uuid(),
        agent: body.agent,
        text: body.text,
        origin: `owner:${viewer.email}`,
        hops: 0,
        asker: `owner:${viewer.email}`,
        idempotencyKey: headers["idempotency-key"],
        at: deps.clock.now(),
        conversation: namedConversation(body.conversation),
      });
      if (!queued.ok) return queued;
      const { turnId, state, seq } = queued.value;
      const cursor = formatCursor(deps.store.events.epoch, seq);
      return ok(json({ turn_id: turnId, state, cursor }, 202));
    },
  }),
  route({
    method: "POST",
    path: "/api/turns/cancel",
    summary: "Cancel a turn, whether it waits or runs",
    gate: "allowAgent",
    agents: ({ body }) => [body.agent],
    body: z.object({ agent, turn_id: z.string().min(1).max(64) }),
    answers: [{
      status: 202,
      description: "The turn ends as cancelled, unless it ends by itself before",
      mediaType: "application/json",
      schema: turnAnswer,
    }],
    handle: async ({ deps }, { body }) => {
      const turn = await deps.store.turns.find(body.turn_id);
      // Another agent's turn is reported as not found: only its owner may know that it exists.
      if (turn === undefined || turn.agent !== body.agent) return err(noSuchTurn(body.turn_id));
      const cancelled = await deps.router.cancelTurn(turn);
      if (!cancelled.ok) return cancelled;
      const { turnId, state, seq } = cancelled.value;
      const cursor = formatCursor(deps.store.events.epoch, seq);
      return ok(json({ turn_id: turnId, state, cursor }, 202));
    },
  }),
  route({
    method: "POST",
    path: "/api/turns/steer",
    summary: "Let the running turn read a waiting one before its next model call",
    gate: "allowAgent",
    agents: ({ body }) => [body.agent],
    body: z.object({ agent, turn_id: z.string().min(1).max(64) }),
    answers: [{
      status: 202,
      description: "The agent has the request; the turn then ends with code `steered`, or waits",
      mediaType: "application/json",
      schema: turnAnswer,
    }],
    handle: async ({ deps }, { body }) => {
      const turn = await deps.store.turns.find(body.turn_id);
      if (turn === undefined || turn.agent !== body.agent) return err(noSuchTurn(body.turn_id));
      const steered = deps.router.steerTurn(turn);
      if (!steered.ok) return steered;
      const { turnId, state, seq } = turn;
      return ok(
        json({ turn_id: turnId, state, cursor: formatCursor(deps.store.events.epoch, seq) }, 202),
      );
    },
  }),
];

function noSuchAgent(name: string) {
  return refusal(
    "agent-unknown",
    `Cannot queue a turn for ${JSON.stringify(name)}: no such agent is in the gateway's ledger`,
    { hints: ["fleetctl agents list"] },
  );
}

function noSuchTurn(turnId: string) {
  return refusal(
    "turn-unknown",
    `Cannot change turn ${JSON.stringify(turnId)}: the agent has no such turn`,
  );
}
