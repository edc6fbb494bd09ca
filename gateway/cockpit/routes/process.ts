/**
 * Routes about the process itself: health, metrics, version.
 *
 * @module
 */

import * as z from "zod";
import { DIAL_PROTOCOL } from "core/dial/frames.ts";
import { ok } from "core/result.ts";
import { json, plain } from "gateway/cockpit/reply.ts";
import { type Route, route } from "gateway/cockpit/route.ts";

const version = z.object({ version: z.string(), protocol: z.number() });

/** Routes for health, metrics and version. */
export const PROCESS_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/healthz",
    summary: "Health check",
    gate: "open",
    answers: [{ status: 200, description: "It serves", mediaType: "text/plain" }],
    handle: () => Promise.resolve(ok(plain("ok\n"))),
  }),
  route({
    method: "GET",
    path: "/metrics",
    summary: "Counters and gauges in the Prometheus text format",
    gate: "loopback",
    answers: [{ status: 200, description: "Metrics", mediaType: "text/plain" }],
    handle: ({ deps }) =>
      Promise.resolve(
        ok(plain(deps.metrics.render(), "text/plain; version=0.0.4; charset=utf-8")),
      ),
  }),
  route({
    method: "GET",
    path: "/api/version",
    summary: "Version of the gateway and of its dial protocol",
    gate: "open",
    answers: [
      { status: 200, description: "Version", mediaType: "application/json", schema: version },
    ],
    handle: ({ deps }) =>
      Promise.resolve(ok(json({ version: deps.version, protocol: DIAL_PROTOCOL }))),
  }),
];
