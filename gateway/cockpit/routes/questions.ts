/**
 * Questions of programs to the agent's owner, and the owner's answer. The first answer that fits
 * the form counts.
 *
 * @module
 */

import * as z from "zod";
import { FORM_SHAPE, questionValues } from "core/dial/question_wire.ts";
import { ANSWER_ACTIONS, QUESTION_STATES } from "core/questions/question.ts";
import { err, ok } from "core/result.ts";
import { denial } from "gateway/cockpit/deny.ts";
import { json } from "gateway/cockpit/reply.ts";
import { type Route, route } from "gateway/cockpit/route.ts";
import type { StoredQuestion } from "gateway/questions/question_store.ts";

const agent = z.string().min(1).max(64);
const question = z.object({
  question_id: z.string(),
  agent: z.string(),
  turn_id: z.string().nullable(),
  /** Milliseconds since the epoch. */
  asked: z.number(),
  expires: z.number(),
  ...FORM_SHAPE,
  state: z.enum(QUESTION_STATES),
  action: z.enum(ANSWER_ACTIONS).nullable(),
  values: questionValues.nullable(),
  by: z.string().nullable(),
  /** Whether the agent has received the answer. */
  is_confirmed: z.boolean(),
});

/** Routes about questions. */
export const QUESTION_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/api/questions",
    summary: "Questions of an agent's programs that await an answer or its delivery",
    gate: "allowAgent",
    agents: ({ query }) => [query.agent],
    query: z.object({ agent }),
    answers: [{
      status: 200,
      description: "Open questions, oldest first",
      mediaType: "application/json",
      schema: z.object({ questions: z.array(question) }),
    }],
    handle: async ({ deps }, { query }) => {
      const open = await deps.store.questions.openOf(query.agent, deps.clock.now());
      return ok(json({ questions: open.map(view) }));
    },
  }),
  route({
    method: "POST",
    path: "/api/questions/answer",
    summary: "Answer or decline a question; the first answer counts",
    gate: "allowAgent",
    agents: ({ body }) => [body.agent],
    body: z.object({
      agent,
      question_id: z.string().min(1).max(64),
      action: z.enum(ANSWER_ACTIONS),
      values: questionValues.optional(),
    }),
    answers: [{
      status: 202,
      description: "The answer is stored and will reach the agent; events report the outcome",
      mediaType: "application/json",
      schema: question,
    }],
    handle: async ({ deps, viewer }, { body }) => {
      if (viewer.kind !== "owner") return err(denial("viewer-denied"));
      const answered = await deps.router.answerQuestion({
        agent: body.agent,
        id: body.question_id,
        action: body.action,
        values: body.values,
        by: `owner:${viewer.email}`,
        surface: "page",
        at: deps.clock.now(),
      });
      return answered.ok ? ok(json(view(answered.value), 202)) : answered;
    },
  }),
];

function view(of: StoredQuestion): z.infer<typeof question> {
  const { id, form, turnId, answer } = of;
  return {
    ...form,
    question_id: id,
    agent: of.agent,
    turn_id: turnId ?? null,
    asked: of.askedAt,
    expires: of.expiresAt,
    state: of.state,
    action: answer?.action ?? null,
    values: answer?.values ?? null,
    by: answer?.by ?? null,
    is_confirmed: of.isConfirmed,
  };
}
