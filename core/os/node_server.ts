/**
 * The `node:http` server under the HTTP and WebSocket listeners. It passes requests to a handler,
 * and bounds the time for headers and request, so that idle connections end. An error that a
 * handler throws becomes an empty 500 and is logged, never sent. No policy.
 *
 * @module
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { HTTP_LIMITS } from "core/limits/http.ts";
import type { Log } from "core/ports/log.ts";
import type { Processes } from "core/ports/processes.ts";
import type { ListenAddress } from "core/ports/sockets.ts";
import { addressFault } from "core/os/address.ts";
import { peerOf, requestOf, sendResponse } from "core/os/node_http.ts";

/** Grace period for open work when the caller sets none. */
export const CLOSE_GRACE_MS = 1_000;

/** Answers one request; `peer` is the address of the other end. */
export type HttpHandler = (request: Request, peer: string) => Response | Promise<Response>;

/** Timeouts of a server; tests shorten them. */
export type ServerTimes = { readonly [Name in keyof typeof HTTP_LIMITS]: number };

/** Dependencies of a server. */
export interface ServerOptions {
  /** Host and port for requests without a `Host` header. */
  readonly authority: string;
  readonly handler: HttpHandler;
  readonly log: Log;
  readonly times?: ServerTimes;
}

/** Creates a server that does not listen yet. */
export function nodeServer(options: ServerOptions): Server {
  const server = timedServer(options.times);
  server.on("request", (message, response) => void answer(message, response, options));
  return server;
}

/** Creates a server without a handler, with the limits of every listener. */
function timedServer(times: ServerTimes = HTTP_LIMITS): Server {
  return createServer({
    headersTimeout: times.headersMsMax,
    requestTimeout: times.requestMsMax,
    keepAliveTimeout: times.keepAliveMs,
    connectionsCheckingInterval: times.checkMs,
  });
}

/** Binds the address and returns it; rejects with `AddressFault`. */
export async function listenOn(
  server: Server,
  at: ListenAddress,
  processes: Processes,
): Promise<ListenAddress> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  try {
    server.listen({ host: at.hostname, port: at.port }, resolve);
    await promise;
  } catch (thrown) {
    throw await addressFault(at, thrown, processes);
  }
  server.off("error", reject);
  // A later error belongs to one connection, which ends by itself.
  server.on("error", () => {});
  const bound = server.address() as AddressInfo;
  return { hostname: bound.address, port: bound.port };
}

async function answer(
  message: IncomingMessage,
  response: ServerResponse,
  options: ServerOptions,
): Promise<void> {
  const abort = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) abort.abort(new DOMException("Peer is gone", "AbortError"));
  });
  const request = requestOf(message, {
    authority: options.authority,
    signal: abort.signal,
    body: true,
  });
  try {
    await sendResponse(
      request === undefined
        ? new Response(null, { status: 400 })
        : await options.handler(request, peerOf(message)),
      response,
    );
  } catch (thrown) {
    options.log.error("http_handler_failed", { error: thrown });
    if (response.headersSent) response.destroy();
    else response.writeHead(500).end();
  }
  // An unread body blocks its sender, which then never reads the answer. If the sender has
  // disconnected, `cancel` rejects, which is ignored.
  if (request?.body?.locked === false) await request.body.cancel().catch(() => {});
}
