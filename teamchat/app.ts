/**
 * The routes of the team-chat gateway, in one table:
 *
 * | Route | Callers |
 * |---|---|
 * | `POST /api/messages` | the platform, by its token |
 * | the same in local mode | programs of this machine that use a loopback name; no page of a browser |
 * | `HEAD /api/messages` | local mode: the vendor's test client checks whether the server is up |
 * | `GET /healthz`, `GET /metrics` | programs of this machine; for other callers there is no such route |
 *
 * @module
 */

import { readBytes } from "core/net/bounded_body.ts";
import { hostnameOf, isLoopbackName } from "core/net/host_name.ts";
import { parsePeer, printIp } from "core/net/ip.ts";
import type { PlainAnswer, PlainHandler, PlainRequest } from "core/http1/plain_http.ts";
import type { Random } from "core/ports/random.ts";
import { deny } from "teamchat/deny.ts";
import type { Health } from "teamchat/health.ts";
import type { MessagesRoute } from "teamchat/inbound/messages.ts";
import { isProxied } from "teamchat/register/app.ts";

/** The only public path. */
const MESSAGES_PATH = "/api/messages";

/** Dependencies of the application. */
export interface TeamchatAppDeps {
  readonly messages: MessagesRoute;
  readonly isLocal: boolean;
  readonly health: () => Health | Promise<Health>;
  readonly metrics: { render(): string | Promise<string> };
  readonly random: Random;
}

/** Headers of every response besides its id. */
const HEADERS: PlainAnswer["headers"] = [
  ["cache-control", "no-store"],
  ["x-content-type-options", "nosniff"],
];
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Creates the application. */
export function createTeamchatApp(deps: TeamchatAppDeps): PlainHandler {
  return async (request) => {
    const id = deps.random.uuid();
    const { status, headers, body } = await answer(request, id, deps);
    return { status, headers: [...headers, ["x-request-id", id], ...HEADERS], body };
  };
}

/** Adapts the application to a listener that uses `Request`, such as the one for WebSockets. */
export function webHandler(
  app: PlainHandler,
): (request: Request, peer: string) => Promise<Response> {
  return async (request, peer) => {
    const { status, headers, body } = await app({
      method: request.method,
      path: new URL(request.url).pathname,
      headers: request.headers,
      peer,
      body: async (bytesMax) => {
        const read = await readBytes(request.body, bytesMax);
        return read.ok ? read.value : "too-long";
      },
    });
    return new Response(body, { status, headers: headers.map(([name, value]) => [name, value]) });
  };
}

async function answer(
  request: PlainRequest,
  id: string,
  deps: TeamchatAppDeps,
): Promise<PlainAnswer> {
  const { method, path } = request;
  if (path === MESSAGES_PATH) {
    if (deps.isLocal && isOfPage(request.headers)) return deny("page-refused");
    if (method === "POST") return await deps.messages(request, id);
    if (method === "HEAD" && deps.isLocal) return { status: 200, headers: [], body: null };
    return deny("method-not-allowed", [["allow", deps.isLocal ? "POST, HEAD" : "POST"]]);
  }
  const isOwn = isFromThisMachine(request.peer) && !isProxied(request.headers);
  if (!isOwn || (method !== "GET" && method !== "HEAD")) return deny("route-unknown");
  if (path === "/healthz") return found("application/json", JSON.stringify(await deps.health()));
  if (path === "/metrics") return found(METRICS_TYPE, await deps.metrics.render());
  return deny("route-unknown");
}

function found(type: string, body: string): PlainAnswer {
  return { status: 200, headers: [["content-type", type]], body };
}

/**
 * Whether a page in a browser of this machine may have sent the request: with a host name that
 * resolves here (DNS rebinding), or across origins. Without a token, only the name distinguishes
 * it from the test client.
 */
function isOfPage(headers: PlainRequest["headers"]): boolean {
  const origin = headers.get("origin");
  const hosts = [headers.get("host") ?? "", ...(origin === null ? [] : [hostOf(origin)])];
  return !hosts.every((host) => isLoopbackName(hostnameOf(host)));
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : "";
}

function isFromThisMachine(peer: string): boolean {
  const address = parsePeer(peer);
  if (address === undefined) return false;
  return isLoopbackName(printIp(address)) || printIp(address) === "0:0:0:0:0:0:0:1";
}
