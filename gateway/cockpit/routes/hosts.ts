/**
 * The hosts of the fleet, and what can be done to them from afar: for admins. Each mutation is one
 * job of a closed list, run by the host's own daemon (`core/dial/host_job.ts`).
 *
 * @module
 */

import { z } from "zod";
import { refusal } from "core/errors.ts";
import { err, ok } from "core/result.ts";
import { json } from "gateway/cockpit/reply.ts";
import { type Route, route, type RouteContext } from "gateway/cockpit/route.ts";

const host = z.string().min(1).max(253);
const jobShape = z.object({ exit: z.number(), report: z.unknown() });
const hostCard = z.object({
  host: z.string(),
  is_online: z.boolean(),
  version: z.string().nullable(),
  since: z.number().nullable(),
});
const appliedShape = z.object({
  host: z.string(),
  ok: z.boolean(),
  exit: z.number().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  report: z.unknown().optional(),
});

/** Routes about hosts. */
export const HOST_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/api/hosts",
    summary: "The hosts of the fleet, and whether their own units are connected",
    gate: "fleetView",
    answers: [{
      status: 200,
      description: "Hosts in the order of their names",
      mediaType: "application/json",
      schema: z.object({ hosts: z.array(hostCard) }),
    }],
    handle: async ({ parts }) => ok(json({ hosts: await parts.hosts.list() })),
  }),
  route({
    method: "GET",
    path: "/api/host/status",
    summary: "What fleetctl status says on a host",
    gate: "fleetView",
    query: z.object({ host }),
    answers: [{
      status: 200,
      description: "Exit code and JSON document of the verb",
      mediaType: "application/json",
      schema: jobShape,
    }],
    handle: async (context, { query }) => {
      const done = await context.parts.hosts.run(query.host, { job: "status", by: who(context) });
      return done.ok ? ok(json(done.value)) : done;
    },
  }),
  route({
    method: "POST",
    path: "/api/apply-all",
    summary: "Bring every connected host to what its ledger says",
    gate: "fleetView",
    body: z.object({}),
    answers: [{
      status: 200,
      description: "One entry for each host; one that is not connected is named as such",
      mediaType: "application/json",
      schema: z.object({ hosts: z.array(appliedShape) }),
    }],
    handle: async (context) => {
      const { parts } = context;
      const applied = (await parts.hosts.list()).map(async (card) => {
        const done = await parts.hosts.run(card.host, { job: "apply", by: who(context) });
        return done.ok
          ? { host: card.host, ok: done.value.exit === 0, ...done.value }
          : { host: card.host, ok: false, code: done.error.code, message: done.error.message };
      });
      return ok(json({ hosts: await Promise.all(applied) }));
    },
  }),
  route({
    method: "POST",
    path: "/api/agents/restart",
    summary: "Restart an agent on the host that it is connected from",
    gate: "fleetView",
    body: z.object({ agent: z.string().min(1).max(64) }),
    answers: [{
      status: 200,
      description: "Exit code and JSON document of the verb",
      mediaType: "application/json",
      schema: jobShape,
    }],
    handle: async (context, { body }) => {
      const { parts } = context;
      // What an agent says of its host decides only who is asked: that host's daemon knows better.
      const at = parts.registry.get(body.agent)?.host;
      if (at === undefined) {
        return err(refusal(
          "agent-offline",
          `Cannot restart agent "${body.agent}": it is not connected, so its host is not known`,
          { hints: [`on its host: fleetctl agents restart ${body.agent}`] },
        ));
      }
      const order = { job: "restart", agent: body.agent, by: who(context) } as const;
      const done = await parts.hosts.run(at.toLowerCase(), order);
      return done.ok ? ok(json(done.value)) : done;
    },
  }),
];

function who({ viewer }: RouteContext): string {
  return viewer.kind === "owner" ? viewer.email : "";
}
