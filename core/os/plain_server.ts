/**
 * The listener for short requests: `core/os/http1_server.ts` without a proxy behind it. A request that asks
 * for an upgrade is answered like any other. No routing and no policy.
 *
 * @module
 */

import { ABSOLUTE_TARGET, isAuthority } from "core/http1_request.ts";
import { HTTP_LIMITS } from "core/limits.ts";
import type { PlainAnswer, PlainHandler, PlainRequest } from "core/plain_http.ts";
import type { ListenAddress, Listener, Log, Processes } from "core/ports.ts";
import type { Answer } from "core/os/http1_answer.ts";
import { type Http1Request, serveHttp1, type WireBounds } from "core/os/http1_server.ts";
import type { ServerTimes } from "core/os/node_server.ts";

const BAD_REQUEST: Answer = { status: 400, headers: [], body: null };
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
    answer: async (request) => {
      const asked = plainRequestOf(request);
      return asked === undefined ? BAD_REQUEST : answerOf(await handler(asked));
    },
  }, { times: HTTP_LIMITS, ...deps });
}

/** Undefined when its target is none that HTTP allows. */
function plainRequestOf(request: Http1Request): PlainRequest | undefined {
  const { head: { method, target, headers }, peer } = request;
  const path = pathOf(target);
  if (path === undefined) return undefined;
  return { method, path, headers, peer, body: (bytesMax) => request.whole(bytesMax) };
}

function pathOf(target: string): string | undefined {
  let text = target;
  if (!target.startsWith("/")) {
    const [, host = "", rest = ""] = ABSOLUTE_TARGET.exec(target) ?? [];
    if (!isAuthority(host)) return undefined;
    text = rest.startsWith("/") ? rest : `/${rest}`;
  }
  const query = text.indexOf("?");
  return query === -1 ? text : text.slice(0, query);
}

function answerOf({ status, headers, body }: PlainAnswer): Answer {
  return { status, headers, body: body === null ? null : encoder.encode(body) };
}
