/**
 * The routes of the team-chat gateway, on one table:
 *
 * | Route | Who |
 * |---|---|
 * | `POST /api/messages` | the platform, by its token |
 * | `HEAD /api/messages` | local mode: the vendor's test client looks whether somebody is there |
 * | `GET /healthz`, `GET /metrics` | programs of this machine; from elsewhere there is no such route |
 *
 * @module
 */

import { isLoopbackName } from "core/host_name.ts";
import { parsePeer, printIp } from "core/ip.ts";
import type { Random } from "core/ports.ts";
import { deny } from "teamchat/deny.ts";
import type { Health } from "teamchat/health.ts";
import type { MessagesRoute } from "teamchat/inbound/messages.ts";
import { isProxied } from "teamchat/register/app.ts";

/** The one public path. */
export const MESSAGES_PATH = "/api/messages";

/** What the application is made of. */
export interface TeamchatAppParts {
  readonly messages: MessagesRoute;
  readonly isLocal: boolean;
  readonly health: () => Health | Promise<Health>;
  readonly metrics: { render(): string | Promise<string> };
  readonly random: Random;
}

/** Answers one request; `peer` is the address of the other end. */
export type TeamchatApp = (request: Request, peer: string) => Promise<Response>;

/** Makes the application. */
export function createTeamchatApp(parts: TeamchatAppParts): TeamchatApp {
  return async (request, peer) => {
    const id = parts.random.uuid();
    const response = await answer(request, { peer, id }, parts);
    response.headers.set("x-request-id", id);
    response.headers.set("cache-control", "no-store");
    response.headers.set("x-content-type-options", "nosniff");
    return response;
  };
}

async function answer(
  request: Request,
  from: { readonly peer: string; readonly id: string },
  parts: TeamchatAppParts,
): Promise<Response> {
  const { method } = request;
  const { pathname } = new URL(request.url);
  if (pathname === MESSAGES_PATH) {
    if (method === "POST") return await parts.messages(request, from.id);
    if (method === "HEAD" && parts.isLocal) return new Response(null, { status: 200 });
    return deny("method-not-allowed", { allow: parts.isLocal ? "POST, HEAD" : "POST" });
  }
  const isOwn = isFromThisMachine(from.peer) && !isProxied(request.headers);
  if (!isOwn || (method !== "GET" && method !== "HEAD")) return deny("route-unknown");
  if (pathname === "/healthz") return Response.json(await parts.health());
  if (pathname === "/metrics") {
    return new Response(await parts.metrics.render(), {
      headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
    });
  }
  return deny("route-unknown");
}

function isFromThisMachine(peer: string): boolean {
  const address = parsePeer(peer);
  if (address === undefined) return false;
  return isLoopbackName(printIp(address)) || printIp(address) === "0:0:0:0:0:0:0:1";
}
