/**
 * A listener that accepts WebSockets and answers plain HTTP on the same address, with `node:http`
 * and `ws`. Passes each upgrade to its owner for a decision; bounds frames. No policy.
 *
 * @module
 */

import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Log } from "core/ports/log.ts";
import type { Processes } from "core/ports/processes.ts";
import type { ListenAddress, Listener, Sockets, UpgradeAnswer } from "core/ports/sockets.ts";
import { printAddress } from "core/os/address.ts";
import { systemClock } from "core/os/clock.ts";
import { peerOf, refuseUpgrade, requestOf } from "core/os/node_http.ts";
import { CLOSE_GRACE_MS, listenOn, nodeServer } from "core/os/node_server.ts";
import { openTunnel } from "core/os/upgrade_tunnel.ts";
import { connectionOf } from "core/os/websocket.ts";

const GOING_AWAY = 1001;

type FrameOptions = Parameters<Sockets["serveFrames"]>[1];

/** Serves WebSockets and plain HTTP on one address; see `Sockets.serveFrames`. */
export async function serveFrames(
  at: ListenAddress,
  options: FrameOptions,
  deps: { readonly processes: Processes; readonly log: Log },
): Promise<Listener> {
  const chosenProtocols = new WeakMap<IncomingMessage, string>();
  const upgrades = new WebSocketServer({
    noServer: true,
    maxPayload: options.frameBytesMax,
    perMessageDeflate: false,
    // The owner has already chosen; `ws` only repeats the choice.
    handleProtocols: (_offered, request) => chosenProtocols.get(request) ?? false,
  });
  const authority = printAddress(at);
  const tunnelled = new Set<Duplex>();
  const server = nodeServer({ authority, handler: options.handler, log: deps.log });

  server.on("upgrade", (message, socket, head) => {
    // Before the upgrade, a connection error only ends that connection.
    socket.on("error", () => socket.destroy());
    const request = requestOf(message, { authority, body: false });
    if (request === undefined) {
      return void refuseUpgrade(new Response(null, { status: 400 }), socket);
    }
    const peer = peerOf(message);
    const decided = decide(request, peer, options, deps.log);
    const act = (decision: UpgradeAnswer) => {
      if (decision.accept === false) return refuse(decision.response, socket);
      if (decision.accept === "tunnel") {
        tunnelled.add(socket);
        socket.once("close", () => tunnelled.delete(socket));
        return openTunnel(decision.tunnel, { socket, head });
      }
      if (decision.protocol !== undefined) chosenProtocols.set(message, decision.protocol);
      upgrades.handleUpgrade(message, socket, head, (accepted: WebSocket) => {
        decision.onOpen(connectionOf(accepted, peer));
      });
    };
    if (decided instanceof Promise) void decided.then(act);
    else act(decided);
  });

  const address = await listenOn(server, at, deps.processes);
  let closing: Promise<void> | undefined;
  return {
    address,
    close: (graceMs = CLOSE_GRACE_MS) =>
      closing ??= closeServer(server, { upgrades, tunnelled }, graceMs),
  };
}

function decide(
  request: Request,
  peer: string,
  options: FrameOptions,
  log: Log,
): UpgradeAnswer | Promise<UpgradeAnswer> {
  const failed = (thrown: unknown): UpgradeAnswer => {
    log.error("upgrade_handler_failed", { error: thrown });
    return { accept: false, response: new Response(null, { status: 500 }) };
  };
  try {
    const answer = options.upgrade(request, peer);
    return answer instanceof Promise ? answer.catch(failed) : answer;
  } catch (thrown) {
    return failed(thrown);
  }
}

function refuse(response: Response, socket: Duplex): void {
  refuseUpgrade(response, socket).catch(() => socket.destroy());
}

/** Sends a close frame on the open WebSockets; drops the remaining ones after the grace period. */
async function closeServer(
  server: Server,
  open: { readonly upgrades: WebSocketServer; readonly tunnelled: ReadonlySet<Duplex> },
  graceMs: number,
): Promise<void> {
  const { upgrades, tunnelled } = open;
  const { promise, resolve } = Promise.withResolvers<void>();
  const sockets = new Set<Socket>();
  for (const client of upgrades.clients) {
    const raw = (client as unknown as { _socket?: Socket })._socket;
    if (raw !== undefined) sockets.add(raw);
    client.close(GOING_AWAY, "shutting down");
  }
  const gone = Promise.all(
    [...sockets].map((socket) =>
      new Promise<void>((done) => {
        if (socket.destroyed) done();
        else socket.once("close", () => done());
      })
    ),
  );
  const cancel = systemClock().after(graceMs, () => {
    for (const client of upgrades.clients) client.terminate();
    server.closeAllConnections();
  });
  // Tunnelled connections get no closing handshake and are not waited for.
  for (const socket of tunnelled) socket.destroy();
  server.close(() => resolve());
  server.closeIdleConnections();
  upgrades.close();
  await Promise.all([promise, gone]);
  cancel();
}
