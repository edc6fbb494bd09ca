/**
 * The agents: the viewer's own, or all for an admin. Also, for `fleetctl status`, every agent of
 * the ledger and whether it is connected.
 *
 * @module
 */

import * as z from "zod";
import { ok } from "core/result.ts";
import {
  agentCard,
  connectionRow,
  describeAgents,
  describeConnections,
} from "gateway/cockpit/agent_cards.ts";
import { json } from "gateway/cockpit/reply.ts";
import { type Route, route } from "gateway/cockpit/route.ts";

/** Routes about agents. */
export const AGENT_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/api/agents",
    summary: "The agents that the viewer may see",
    gate: "viewer",
    answers: [{
      status: 200,
      description: "Cards, sorted by name",
      mediaType: "application/json",
      schema: z.object({ agents: z.array(agentCard) }),
    }],
    handle: async ({ deps, viewer }) => ok(json({ agents: await describeAgents(viewer, deps) })),
  }),
  route({
    method: "GET",
    path: "/api/connections",
    summary: "Every agent of the ledger, and whether it is connected",
    gate: "hostView",
    answers: [{
      status: 200,
      description: "One row for each identity of the ledger",
      mediaType: "application/json",
      schema: z.object({ agents: z.array(connectionRow) }),
    }],
    handle: async ({ deps }) => ok(json({ agents: describeConnections(deps) })),
  }),
];
