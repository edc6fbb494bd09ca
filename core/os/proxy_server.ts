/**
 * The listener of a proxy, on `node:http`: hands requests on with their headers as a list and their
 * bodies as streams, writes answers as they are, and joins upgrades to the server behind. Bounds the
 * time that a peer may take (`core/os/node_server.ts`). No policy.
 *
 * @module
 */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { Duplex } from "node:stream";
import { HeaderList } from "core/header_list.ts";
import type { ListenAddress, Listener, Log, Processes } from "core/ports.ts";
import type { ProxyHandlers, Proxying, ProxyRequest, ProxyUpgrade } from "core/proxy_port.ts";
import { printAddress } from "core/os/address.ts";
import { systemClock } from "core/os/clock.ts";
import { isGone, peerOf, refuseUpgrade, sendMessage, targetOf } from "core/os/node_http.ts";
import { CLOSE_GRACE_MS, listenOn, type ServerTimes, timedServer } from "core/os/node_server.ts";
import { openUpstream } from "core/os/upstream.ts";
import { openTunnel } from "core/os/upgrade_tunnel.ts";

interface Deps {
  readonly processes: Processes;
  readonly log: Log;
  /** Tests shorten them. */
  readonly times?: ServerTimes;
}

/** Returns both sides of a proxy. */
export function systemProxying(deps: Deps): Proxying {
  return { serve: (at, handlers) => serveProxy(at, handlers, deps), open: openUpstream };
}

async function serveProxy(
  at: ListenAddress,
  handlers: ProxyHandlers,
  deps: Deps,
): Promise<Listener> {
  const authority = printAddress(at);
  const server = timedServer(deps.times);
  const tunnelled = new Set<Duplex>();
  server.on("request", (message, response) => {
    void answer(message, response, { authority, handlers, log: deps.log });
  });
  server.on("upgrade", (message, socket, head) => {
    // Errors of a peer before it is a WebSocket concern nobody.
    socket.on("error", () => socket.destroy());
    tunnelled.add(socket);
    socket.once("close", () => tunnelled.delete(socket));
    void decide(message, { authority, handlers, log: deps.log }).then((decided) => {
      if (decided.accept === "tunnel") openTunnel(decided.tunnel, { socket, head });
      else refuseUpgrade(decided.response, socket).catch(() => socket.destroy());
    });
  });
  const address = await listenOn(server, at, deps.processes);
  let closing: Promise<void> | undefined;
  return {
    address,
    close: (graceMs = CLOSE_GRACE_MS) => closing ??= closeServer(server, tunnelled, graceMs),
  };
}

interface Serving {
  readonly authority: string;
  readonly handlers: ProxyHandlers;
  readonly log: Log;
}

async function answer(
  message: IncomingMessage,
  response: ServerResponse,
  { authority, handlers, log }: Serving,
): Promise<void> {
  const onGone = (run: () => void) => {
    // Who left before anybody asked is told of no more.
    if (isGone(response)) return run();
    response.once("close", () => {
      if (!response.writableFinished) run();
    });
  };
  try {
    const request = proxyRequestOf(message, { authority, hasBody: true, onGone });
    if (request === undefined) {
      // Where the next request begins is not known either.
      response.shouldKeepAlive = false;
      return await sendMessage(new Response(null, { status: 400 }), response);
    }
    await sendMessage(await handlers.handle(request, peerOf(message)), response);
  } catch (thrown) {
    log.error("http_handler_failed", { error: thrown });
    if (response.headersSent) response.destroy();
    else response.writeHead(500).end();
  }
}

async function decide(
  message: IncomingMessage,
  { authority, handlers, log }: Serving,
): Promise<ProxyUpgrade> {
  const request = proxyRequestOf(message, { authority, hasBody: false, onGone: () => {} });
  if (request === undefined) return refusal(400);
  try {
    return await handlers.upgrade(request, peerOf(message));
  } catch (thrown) {
    log.error("upgrade_handler_failed", { error: thrown });
    return refusal(500);
  }
}

function refusal(status: number): ProxyUpgrade {
  return { accept: false, response: new Response(null, { status }) };
}

/** Builds a request; undefined when its target or its framing is none that HTTP allows. */
function proxyRequestOf(
  message: IncomingMessage,
  of: {
    readonly authority: string;
    readonly hasBody: boolean;
    readonly onGone: ProxyRequest["onGone"];
  },
): ProxyRequest | undefined {
  const { method = "GET" } = message;
  try {
    const { host, target } = targetOf(message, of.authority);
    const headers = HeaderList.ofRaw(message.rawHeaders);
    if (!isFramedOnce(headers)) return undefined;
    // Two of them come as one list; both are refused by whoever reads the name (RFC 9112, 3.2).
    if (target !== message.url && !(headers.get("host") ?? "").includes(",")) {
      headers.set("host", host);
    }
    // A body under GET or HEAD has no meaning, and no part of one reaches the server behind.
    const hasBody = of.hasBody && method !== "GET" && method !== "HEAD" && isFramed(headers);
    return {
      method,
      url: new URL(`http://${host}${target}`),
      headers,
      body: hasBody ? Readable.toWeb(message) as unknown as ReadableStream<Uint8Array> : null,
      onGone: of.onGone,
    };
  } catch {
    return undefined;
  }
}

/** The parser below may look at framing later than we send the head on (RFC 9112, 6.1 and 6.3). */
function isFramedOnce(headers: HeaderList): boolean {
  const length = headers.get("content-length");
  const coding = headers.get("transfer-encoding");
  if (coding !== null) return length === null && coding.toLowerCase() === "chunked";
  return length === null || /^\d{1,15}$/.test(length);
}

function isFramed(headers: HeaderList): boolean {
  const length = headers.get("content-length");
  return headers.has("transfer-encoding") || (length !== null && length !== "0");
}

async function closeServer(
  server: Server,
  tunnelled: ReadonlySet<Duplex>,
  graceMs: number,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = systemClock().after(graceMs, () => server.closeAllConnections());
  // What goes through a tunnel is not ours to end politely, and need not be waited for.
  for (const socket of tunnelled) socket.destroy();
  server.close(() => resolve());
  server.closeIdleConnections();
  await promise;
  cancel();
}
