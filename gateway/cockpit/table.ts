/**
 * All routes of the cockpit, one row each.
 *
 * @module
 */

import { ok } from "core/result.ts";
import { describeRoutes } from "gateway/cockpit/openapi.ts";
import { json } from "gateway/cockpit/reply.ts";
import { type Route, route } from "gateway/cockpit/route.ts";
import { AGENT_ROUTES } from "gateway/cockpit/routes/agents.ts";
import { HOST_ROUTES } from "gateway/cockpit/routes/hosts.ts";
import { MODEL_ROUTES } from "gateway/cockpit/routes/models.ts";
import { APPROVAL_ROUTES } from "gateway/cockpit/routes/approvals.ts";
import { QUESTION_ROUTES } from "gateway/cockpit/routes/questions.ts";
import { CONVERSATION_ROUTES } from "gateway/cockpit/routes/conversations.ts";
import { PROCESS_ROUTES } from "gateway/cockpit/routes/process.ts";
import { STREAM_ROUTES } from "gateway/cockpit/routes/streams.ts";
import { TURN_ROUTES } from "gateway/cockpit/routes/turns.ts";
import { WEB_ROUTES } from "gateway/cockpit/routes/web.ts";

const description = route({
  method: "GET",
  path: "/api/openapi.json",
  summary: "This table as OpenAPI 3.1",
  gate: "viewer",
  answers: [{ status: 200, description: "OpenAPI", mediaType: "application/json" }],
  handle: ({ deps }) => Promise.resolve(ok(json(describeRoutes(ROUTES, deps.version)))),
});

/** The route table. */
export const ROUTES: readonly Route[] = [
  ...PROCESS_ROUTES,
  description,
  ...AGENT_ROUTES,
  ...HOST_ROUTES,
  ...MODEL_ROUTES,
  ...TURN_ROUTES,
  ...CONVERSATION_ROUTES,
  ...APPROVAL_ROUTES,
  ...QUESTION_ROUTES,
  ...STREAM_ROUTES,
  ...WEB_ROUTES,
];
