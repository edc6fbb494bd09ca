/**
 * The listener of a proxy: hands requests on with their headers as a list and their bodies as streams,
 * writes answers as they are, and joins upgrades to the server behind. Framing and times are
 * `core/os/http1_server.ts`. No policy.
 *
 * @module
 */

import { HTTP_LIMITS } from "core/limits.ts";
import { ABSOLUTE_TARGET, isAuthority } from "core/http1_request.ts";
import type { ListenAddress, Listener, Log, Processes } from "core/ports.ts";
import type { ProxyHandlers, Proxying, ProxyRequest, ProxyUpgrade } from "core/proxy_port.ts";
import { printAddress } from "core/os/address.ts";
import type { Answer } from "core/os/http1_answer.ts";
import { type Http1Request, serveHttp1, type WireBounds } from "core/os/http1_server.ts";
import { refuseUpgrade, runTunnel } from "core/os/http1_tunnel.ts";
import type { ServerTimes } from "core/os/node_server.ts";
import { openUpstream } from "core/os/upstream.ts";

interface Deps {
  readonly processes: Processes;
  readonly log: Log;
  /** Tests shorten them. */
  readonly times?: ServerTimes;
  readonly bounds?: WireBounds;
}

const BAD_REQUEST: Answer = { status: 400, headers: [], body: null };

/** Returns both sides of a proxy. */
export function systemProxying(deps: Deps): Proxying {
  return { serve: (at, handlers) => serveProxy(at, handlers, deps), open: openUpstream };
}

function serveProxy(at: ListenAddress, handlers: ProxyHandlers, deps: Deps): Promise<Listener> {
  const authority = printAddress(at);
  return serveHttp1(at, {
    clientOf: (peer) => handlers.clientOf?.(peer),
    answer: async (request) => {
      const asked = proxyRequestOf(request, authority);
      return asked === undefined ? BAD_REQUEST : await handlers.handle(asked, request.peer);
    },
    upgrade: async (request, wire) => {
      const asked = proxyRequestOf(request, authority);
      const decided = asked === undefined
        ? BAD_REQUEST
        : await decide(asked, request.peer, { handlers, log: deps.log });
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

/** Builds a request; undefined when its target is none that HTTP allows. */
function proxyRequestOf(
  request: Http1Request,
  authority: string,
): ProxyRequest | undefined {
  const { head } = request;
  const { method, headers } = head;
  const whole = head.target.startsWith("/") ? undefined : ABSOLUTE_TARGET.exec(head.target);
  if (whole === null) return undefined;
  // A target has no fragment (RFC 9112, 3.2): readers differ on where the path of this one ends.
  if (head.target.includes("#")) return undefined;
  const [, host = headers.get("host") ?? authority, rest = head.target] = whole ?? [];
  if (!isAuthority(host)) return undefined;
  // A whole address outranks the `Host` header (RFC 9112, 3.2.2).
  if (whole !== undefined) headers.set("host", host);
  const url = URL.parse(`http://${host}${rest.startsWith("/") ? rest : `/${rest}`}`);
  if (url === null) return undefined;
  // A body under GET or HEAD has no meaning, and no part of one reaches the server behind.
  const isBodyless = method === "GET" || method === "HEAD";
  const body = isBodyless ? null : request.body;
  return { method, url, headers, body, onGone: (run) => request.onGone(run) };
}
