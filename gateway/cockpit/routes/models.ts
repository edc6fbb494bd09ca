/**
 * An agent's model: show it and set it. The key is write-only.
 *
 * @module
 */

import * as z from "zod";
import { refusal } from "core/errors.ts";
import { err, ok } from "core/result.ts";
import { MODEL_CHOICE_LIMITS, MODEL_PROVIDERS } from "core/runtimes/model_choice.ts";
import { modelCardShape } from "gateway/cockpit/model_endpoint.ts";
import { json } from "gateway/cockpit/reply.ts";
import { type Route, route } from "gateway/cockpit/route.ts";

const agent = z.string().min(1).max(64);
const ANSWER = {
  status: 200,
  description: "The model; of its key only whether it is set, and its last characters",
  mediaType: "application/json",
  schema: modelCardShape,
};

/** Routes about models. */
export const MODEL_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/api/model",
    summary: "Which model an agent uses",
    gate: "allowAgent",
    agents: ({ query }) => [query.agent],
    query: z.object({ agent }),
    answers: [ANSWER],
    handle: async ({ deps }, { query }) => {
      const shown = await deps.models.show(query.agent);
      return shown.ok ? ok(json(shown.value)) : shown;
    },
  }),
  route({
    method: "POST",
    path: "/api/model",
    summary: "Try a model, store its key for an agent, and restart the agent",
    gate: "allowAgent",
    agents: ({ body }) => [body.agent],
    body: z.object({
      agent,
      provider: z.enum(MODEL_PROVIDERS),
      model: z.string().max(MODEL_CHOICE_LIMITS.modelMax).optional(),
      base_url: z.string().max(MODEL_CHOICE_LIMITS.baseUrlMax).optional(),
      key: z.string().max(MODEL_CHOICE_LIMITS.keyMax).optional(),
      check: z.boolean().default(true),
    }),
    answers: [ANSWER],
    handle: async ({ deps, requestId }, { body }) => {
      // The restart would interrupt a running turn.
      if ((await deps.store.turns.openOf(body.agent)).length > 0) {
        return err(refusal(
          "agent-working",
          `Cannot connect a model to agent "${body.agent}": it is working on a turn, which ` +
            "must end first",
        ));
      }
      const { provider, model, base_url: baseUrl, key } = body;
      const done = await deps.models.set(
        body.agent,
        { provider, model, baseUrl, key },
        body.check,
      );
      deps.log.info("model chosen", {
        request_id: requestId,
        agent: body.agent,
        provider,
        result: done.ok ? "ok" : done.error.code,
      });
      return done.ok ? ok(json(done.value)) : done;
    },
  }),
];
