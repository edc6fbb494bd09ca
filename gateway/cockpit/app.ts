/**
 * The cockpit as a Hono application. Every request passes the same checks in the same order,
 * whatever its route: host name, cross-site check, viewer, input, gate, handler. So no handler has
 * to repeat a check.
 *
 * @module
 */

import { Hono } from "hono";
import { decideGate, type GateDecision } from "core/access/gates.ts";
import { isUnchanged, type Viewer } from "core/access/viewer.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { Result } from "core/result.ts";
import { hostnameOf } from "core/net/host_name.ts";
import { isCrossSite, isLocalProgram, isOfOtherViewer, viewerOf } from "gateway/cockpit/caller.ts";
import { denial, problem } from "gateway/cockpit/deny.ts";
import { readInput } from "gateway/cockpit/input.ts";
import type { CockpitDeps } from "gateway/cockpit/deps.ts";
import type { Route } from "gateway/cockpit/route.ts";

/** Header with the request id; an id from the proxy in front is reused. */
const REQUEST_ID_HEADER = "X-Request-Id";
const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** What the listener adds to a request. */
export interface CockpitEnv {
  readonly Bindings: { readonly peer: string };
}

/** Creates the application. */
export function createCockpit(routes: readonly Route[], deps: CockpitDeps): Hono<CockpitEnv> {
  const app = new Hono<CockpitEnv>();
  // Runs before every route: a request with another host name may come from any page of the web.
  app.use(async (context, next) => {
    const host = hostnameOf(context.req.header("host") ?? "");
    if (deps.isOwnHost(host)) return await next();
    const id = requestId(context.req.raw, deps);
    deps.log.warning("request refused", { request_id: id, reason: "host-unknown" });
    return addHeaders(problem(hostUnknown()), id);
  });
  for (const route of routes) {
    app.on(route.method, route.path, (context) => {
      const peer = context.env?.peer ?? "";
      return answer(context.req.raw, { route, peer, deps });
    });
  }
  app.notFound((context) => {
    const { path, method } = context.req;
    const allowed = routes.filter((route) => route.path === path).map((route) => route.method);
    const id = requestId(context.req.raw, deps);
    const page = allowed.length === 0 && isForPerson(context.req.raw) ? deps.web.lost() : undefined;
    if (page !== undefined) return addHeaders(page, id);
    const fault = allowed.length === 0 ? routeUnknown(path) : methodNotAllowed(method, path);
    const headers = allowed.length === 0 ? {} : { allow: allowed.join(", ") };
    return addHeaders(problem(fault, headers), id);
  });
  app.onError((thrown, context) => {
    const id = requestId(context.req.raw, deps);
    deps.log.error("request failed", { request_id: id, error: errorText(thrown) });
    return addHeaders(problem(internalFault()), id);
  });
  return app;
}

/** A browser's navigation gets a page; programs and scripts get the problem document. */
function isForPerson({ method, headers, url }: Request): boolean {
  const isApi = new URL(url).pathname.startsWith("/api/");
  return method === "GET" && !isApi && (headers.get("accept") ?? "").includes("text/html");
}

interface ParsedRequest {
  readonly route: Route;
  readonly peer: string;
  readonly deps: CockpitDeps;
}

async function answer(request: Request, parsed: ParsedRequest): Promise<Response> {
  const { route, deps } = parsed;
  const id = requestId(request, deps);
  const result = await decide(request, id, parsed);
  const response = result.ok ? result.value : problem(result.error);
  deps.metrics.count("requests", { route: route.path, status: String(response.status) });
  return addHeaders(response, id);
}

async function decide(
  request: Request,
  id: string,
  parsed: ParsedRequest,
): Promise<Result<Response>> {
  const { route, peer, deps } = parsed;
  const deny = (
    code: Parameters<typeof denial>[0],
    why: { readonly reason: string; readonly agent?: string | undefined },
  ): Result<Response> => {
    deps.log.info("request denied", { request_id: id, path: route.path, code, ...why });
    return { ok: false, error: denial(code) };
  };
  if (route.gate !== "open" && isCrossSite(request)) {
    return deny("cross-site", { reason: "sec-fetch-site" });
  }
  const viewer = await viewerOf(request, deps);
  const local = isLocalProgram(request, peer);
  const agent = viewer.kind === "owner" ? viewer.agent : undefined;
  const early = decideEarly(route, viewer, local);
  if (!early.allow) return deny(early.code, { reason: early.reason, agent });
  if (route.gate !== "open" && isOfOtherViewer(request, viewer)) {
    return deny("viewer-changed", { reason: "page-of-other-viewer", agent });
  }
  const input = await readInput(route, request);
  if (!input.ok) return input;
  // The roster may have changed while the body arrived.
  if (viewer.kind === "owner" && !isUnchanged(viewer, deps.roster.current())) {
    return deny("viewer-denied", { reason: "rights-changed", agent });
  }
  const agents = viewer.kind === "owner" ? route.agents(input.value, viewer) : [];
  const decision = decideGate(route.gate, { viewer, isLocalProgram: local, agents });
  if (!decision.allow) return deny(decision.code, { reason: decision.reason, agent });
  return route.handle({ deps, viewer, request, requestId: id }, input.value);
}

/** Rejects callers before their input is read, when no input could give them access. */
function decideEarly(route: Route, viewer: Viewer, isLocal: boolean): GateDecision {
  const gate = route.gate === "allowAgent" ? "viewer" : route.gate;
  return decideGate(gate, { viewer, isLocalProgram: isLocal, agents: [] });
}

function requestId(request: Request, deps: Pick<CockpitDeps, "random">): string {
  const given = request.headers.get(REQUEST_ID_HEADER) ?? "";
  return REQUEST_ID.test(given) ? given : deps.random.uuid();
}

function addHeaders(response: Response, id: string): Response {
  response.headers.set(REQUEST_ID_HEADER, id);
  response.headers.set("x-content-type-options", "nosniff");
  if (!response.headers.has("cache-control")) response.headers.set("cache-control", "no-store");
  return response;
}

function routeUnknown(path: string): Refusal {
  return refusal(
    "route-unknown",
    `Cannot answer: there is no route ${JSON.stringify(path.slice(0, 200))}`,
  );
}

function hostUnknown(): Refusal {
  return refusal(
    "host-unknown",
    "Cannot answer: unknown host name, must be one listed in WEBVIEW_HOSTS",
  );
}

function methodNotAllowed(method: string, path: string): Refusal {
  return refusal(
    "method-not-allowed",
    `Cannot answer: ${JSON.stringify(path)} does not accept ${method}`,
  );
}

function internalFault(): Refusal {
  return refusal("internal-fault", "Cannot answer: internal error, see the gateway's log");
}
