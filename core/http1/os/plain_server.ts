/**
 * The listener for short requests, over `core/http1/os/server.ts`. Upgrade requests are answered
 * like any other. No routing and no policy.
 *
 * @module
 */

import { HTTP_LIMITS } from "core/limits/http.ts";
import type { PlainAnswer, PlainHandler, PlainRequest } from "core/http1/plain_http.ts";
import type { Log } from "core/ports/log.ts";
import type { Processes } from "core/ports/processes.ts";
import type { ListenAddress, Listener } from "core/ports/sockets.ts";
import type { Answer } from "core/http1/os/answer.ts";
import { type Http1Request, serveHttp1, type WireBounds } from "core/http1/os/server.ts";
import type { ServerTimes } from "core/os/node_server.ts";

const encoder = new TextEncoder();

/** Serves requests on one address; see `Sockets.servePlain`. */
export function servePlain(
  at: ListenAddress,
  handler: PlainHandler,
  deps: {
    readonly processes: Processes;
    readonly log: Log;
    /** Tests shorten them. */
    readonly times?: ServerTimes;
    readonly bounds?: WireBounds;
  },
): Promise<Listener> {
  return serveHttp1(at, {
    answer: async (request) => answerOf(await handler(plainRequestOf(request))),
  }, { times: HTTP_LIMITS, ...deps });
}

function plainRequestOf(request: Http1Request): PlainRequest {
  const { head: { method, path: asked, headers }, peer } = request;
  const query = asked.indexOf("?");
  const path = query === -1 ? asked : asked.slice(0, query);
  return { method, path, headers, peer, body: (bytesMax) => request.whole(bytesMax) };
}

function answerOf({ status, headers, body }: PlainAnswer): Answer {
  return { status, headers, body: body === null ? null : encoder.encode(body) };
}
