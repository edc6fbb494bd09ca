/**
 * The listener of a proxy: passes requests to its handlers, writes answers unchanged, and tunnels
 * upgrades to the upstream. `core/http1/os/server.ts` does framing and timeouts. No policy.
 *
 * @module
 */

import { HTTP_LIMITS } from "core/limits/http.ts";
import type { Log } from "core/ports/log.ts";
import type { Processes } from "core/ports/processes.ts";
import type { ListenAddress, Listener } from "core/ports/sockets.ts";
import type {
  ProxyHandlers,
  Proxying,
  ProxyRequest,
  ProxyUpgrade,
} from "login/http1/proxy_port.ts";
import { printAddress } from "core/os/address.ts";
import type { Answer } from "core/http1/os/answer.ts";
import { type Http1Request, serveHttp1, type WireBounds } from "core/http1/os/server.ts";
import { refuseUpgrade, runTunnel } from "login/http1/os/tunnel.ts";
import type { ServerTimes } from "core/os/node_server.ts";
import { openUpstream } from "login/http1/os/upstream.ts";

interface Deps {
  readonly processes: Processes;
  readonly log: Log;
  /** Tests shorten them. */
  readonly times?: ServerTimes;
  readonly bounds?: WireBounds;
}

const BAD_REQUEST: Answer = { status: 400, headers: [], body: null };

/** Returns the listener and the upstream of a proxy. */
export function systemProxying(deps: Deps): Proxying {
  return { serve: (at, handlers) => serveProxy(at, handlers, deps), open: openUpstream };
}

function serveProxy(at: ListenAddress, handlers: ProxyHandlers, deps: Deps): Promise<Listener> {
  const authority = printAddress(at);
  return serveHttp1(at, {
    clientOf: (peer) => handlers.clientOf?.(peer),
    answer: async (request) => {
      const parsed = proxyRequestOf(request, authority);
      return parsed === undefined ? BAD_REQUEST : await handlers.handle(parsed, request.peer);
    },
    upgrade: async (request, wire) => {
      const parsed = proxyRequestOf(request, authority);
      const decided = parsed === undefined
        ? BAD_REQUEST
        : await decide(parsed, request.peer, { handlers, log: deps.log });
      if ("accept" in decided && decided.accept === "tunnel") {
        return await runTunnel(decided.tunnel, wire);
      }
      await refuseUpgrade(wire, "accept" in decided ? decided.response : decided);
    },
  }, { times: HTTP_LIMITS, ...deps });
}

async function decide(
  request: ProxyRequest,
  peer: string,
  { handlers, log }: { readonly handlers: ProxyHandlers; readonly log: Log },
): Promise<ProxyUpgrade | Answer> {
  try {
    return await handlers.upgrade(request, peer);
  } catch (thrown) {
    log.error("upgrade_handler_failed", { error: thrown });
    return { status: 500, headers: [], body: null };
  }
}

/** Builds a request; undefined if its target is not a valid URL. */
function proxyRequestOf(
  request: Http1Request,
  authority: string,
): ProxyRequest | undefined {
  const { method, headers, authority: host, path } = request.head;
  if (host !== undefined) headers.set("host", host);
  const url = URL.parse(`http://${headers.get("host") ?? authority}${path}`);
  if (url === null) return undefined;
  // A body of GET or HEAD has no meaning and is not forwarded.
  const isBodyless = method === "GET" || method === "HEAD";
  const body = isBodyless ? null : request.body;
  return { method, url, headers, body, onDisconnect: (run) => request.onDisconnect(run) };
}
