/**
 * The hosts of the fleet and their remote operations, for admins. Each change is one job of a
 * closed list, run by the host's own daemon (`core/dial/host_job.ts`). A job continues when the
 * page that started it closes.
 *
 * @module
 */

import * as z from "zod";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { err, ok } from "core/result.ts";
import { HOST_JOBS } from "core/dial/host_job.ts";
import { json } from "gateway/cockpit/reply.ts";
import type { CockpitDeps } from "gateway/cockpit/deps.ts";
import { type Route, route, type RouteContext } from "gateway/cockpit/route.ts";

const host = z.string().min(1).max(253);
const jobShape = z.object({ exit: z.number(), report: z.unknown() });
const jobCard = z.object({
  id: z.string(),
  host: z.string(),
  job: z.enum(HOST_JOBS),
  agent: z.string().nullable(),
  by: z.string(),
  begun: z.number(),
  ended: z.number().nullable(),
  progress: z.string().nullable(),
  exit: z.number().nullable(),
  code: z.string().nullable(),
  message: z.string().nullable(),
  hints: z.array(z.string()),
});
const hostCard = z.object({
  host: z.string(),
  is_online: z.boolean(),
  version: z.string().nullable(),
  since: z.number().nullable(),
  is_revoked: z.boolean(),
  jobs: z.array(jobCard),
});
const hostsShape = z.object({
  hosts: z.array(hostCard),
  /** False when the list of keys cannot be read, so that only connected hosts are listed. */
  is_complete: z.boolean(),
  /** Version of the gateway, to compare with the hosts' versions. */
  version: z.string(),
  /** Name of the gateway's host; empty when unknown. */
  gateway: z.string(),
});
/** Operations that a page may request on a host. Its status has a separate route. */
const jobWish = z.object({
  host,
  job: z.enum(["apply", "restart"]),
  agent: z.string().min(1).max(64).optional(),
}).refine(({ job, agent }) => (job === "restart") === (agent !== undefined), {
  message: "is required for restart and not accepted for other jobs",
  path: ["agent"],
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
    summary: "The hosts of the fleet, and whether they are connected",
    gate: "fleetView",
    answers: [{
      status: 200,
      description: "Hosts, sorted by name",
      mediaType: "application/json",
      schema: hostsShape,
    }],
    handle: async ({ deps }) => ok(json(await describeHosts(deps))),
  }),
  route({
    method: "GET",
    path: "/api/host/jobs",
    summary: "The last jobs that changed a host, with what their verbs printed",
    gate: "fleetView",
    query: z.object({ host }),
    answers: [{
      status: 200,
      description: "Newest first",
      mediaType: "application/json",
      schema: z.object({ jobs: z.array(jobCard.extend({ report: z.unknown() })) }),
    }],
    handle: ({ deps }, { query }) =>
      Promise.resolve(ok(json({ jobs: deps.hosts.jobs(query.host) }))),
  }),
  route({
    method: "POST",
    path: "/api/host/jobs",
    summary: "Start a job on a host; the topic `hosts` reports its end",
    gate: "fleetView",
    body: jobWish,
    answers: [{
      status: 202,
      description: "The job that was started",
      mediaType: "application/json",
      schema: jobCard,
    }],
    handle: (context, { body }) => {
      const { host, job, agent } = body;
      const order = { job, by: who(context), ...defined({ agent }) };
      const begun = context.deps.hosts.begin(host, order);
      return Promise.resolve(begun.ok ? ok(json(begun.value, 202)) : begun);
    },
  }),
  route({
    method: "GET",
    path: "/api/host/status",
    summary: "Output of fleetctl status on a host",
    gate: "fleetView",
    query: z.object({ host }),
    answers: [{
      status: 200,
      description: "Exit code and JSON document of the verb",
      mediaType: "application/json",
      schema: jobShape,
    }],
    handle: async (context, { query }) => {
      const done = await context.deps.hosts.run(query.host, { job: "status", by: who(context) });
      return done.ok ? ok(json(done.value)) : done;
    },
  }),
  route({
    method: "POST",
    path: "/api/apply-all",
    summary: "Bring every connected host in line with its ledger",
    gate: "fleetView",
    body: z.object({}),
    answers: [{
      status: 200,
      description: "One entry for each host, also for those that are not connected",
      mediaType: "application/json",
      schema: z.object({ hosts: z.array(appliedShape) }),
    }],
    handle: async (context) => {
      const { deps } = context;
      const applied = (await deps.hosts.list()).hosts.map(async (card) => {
        const done = await deps.hosts.run(card.host, { job: "apply", by: who(context) });
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
      const { deps } = context;
      // The host that the agent reported only says where to send the job; that host's daemon checks
      // it.
      const at = deps.registry.get(body.agent)?.host;
      if (at === undefined) {
        return err(refusal(
          "agent-offline",
          `Cannot restart agent "${body.agent}": it is not connected, so its host is not known`,
          { hints: [`fleetctl agents show ${body.agent}`] },
        ));
      }
      const order = { job: "restart", agent: body.agent, by: who(context) } as const;
      const done = await deps.hosts.run(at.toLowerCase(), order);
      return done.ok ? ok(json(done.value)) : done;
    },
  }),
];

/** The hosts as a page gets them, from the route and the stream. */
export async function describeHosts(
  { hosts, version, hostname }: Pick<CockpitDeps, "hosts" | "version" | "hostname">,
): Promise<z.infer<typeof hostsShape>> {
  const { hosts: cards, is_complete } = await hosts.list();
  return {
    hosts: cards.map(({ jobs, ...card }) => ({
      ...card,
      jobs: jobs.map((job) => ({ ...job, hints: [...job.hints] })),
    })),
    is_complete,
    version,
    gateway: hostname,
  };
}

function who({ viewer }: RouteContext): string {
  return viewer.kind === "owner" ? viewer.email : "";
}
