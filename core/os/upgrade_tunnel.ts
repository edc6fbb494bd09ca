/**
 * Forwards an upgrade to another server on this machine. It sends the client's own handshake,
 * relays the answer, and then joins the two connections byte by byte, with back-pressure. Reads no
 * frames and makes no decision; the listener's owner has already admitted the client.
 *
 * @module
 */

import { type IncomingMessage, request, STATUS_CODES } from "node:http";
import { Readable } from "node:stream";
import type { Duplex } from "node:stream";
import { errorText } from "core/errors.ts";
import type { UpgradeTunnel } from "core/ports/sockets.ts";
import { printAddress } from "core/os/address.ts";
import { refuseUpgrade } from "core/os/node_http.ts";

/** Headers of the other server's 101 response that the client needs. */
const HANDSHAKE_HEADER = /^(?:upgrade|connection|sec-websocket-[a-z]+)$/;
/** Largest refusal of the other server that is relayed. */
const REFUSAL_BYTES_MAX = 64 * 1024;

/** The client's connection, and the bytes that followed its request. */
export interface TunnelClient {
  readonly socket: Duplex;
  readonly head: Uint8Array;
}

/** Opens the tunnel. However it ends, both sides are closed and `onClose` is called. */
export function openTunnel(tunnel: UpgradeTunnel, client: TunnelClient): void {
  const { socket } = client;
  const { to, signal } = tunnel;
  // The client has disconnected and its `close` event has fired already, so release the tunnel now.
  if (socket.destroyed) return tunnel.onClose();
  const upstreamRequest = request({
    host: to.hostname,
    port: to.port,
    path: tunnel.target,
    method: "GET",
    setHost: false,
    headers: {
      ...Object.fromEntries(tunnel.headers),
      host: printAddress(to),
      connection: "Upgrade",
      upgrade: "websocket",
    },
  });
  let remote: Duplex | undefined;
  let isAnswered = false;
  const drop = () => {
    upstreamRequest.destroy();
    remote?.destroy();
    socket.destroy();
  };
  const refuse = (response: Response) => {
    if (isAnswered) return;
    isAnswered = true;
    refuseUpgrade(response, socket).catch(drop);
  };
  upstreamRequest.setTimeout(tunnel.timeoutMs, () => {
    if (remote === undefined) upstreamRequest.destroy(new Error("it gave no answer in time"));
  });
  upstreamRequest.on("error", (thrown) => refuse(tunnel.unreachable(errorText(thrown))));
  upstreamRequest.on("response", (answer: IncomingMessage) => {
    void readRefusal(answer).then(refuse, drop);
  });
  upstreamRequest.on("upgrade", (answer: IncomingMessage, opened: Duplex, head: Uint8Array) => {
    isAnswered = true;
    remote = opened;
    if (signal.aborted || socket.destroyed) return drop();
    join({ socket, opened, answer }, { toClient: head, toServer: client.head }, drop);
  });
  signal.addEventListener("abort", drop, { once: true });
  socket.once("close", () => {
    signal.removeEventListener("abort", drop);
    drop();
    tunnel.onClose();
  });
  if (signal.aborted) return drop();
  upstreamRequest.end();
}

function join(
  sides: { readonly socket: Duplex; readonly opened: Duplex; readonly answer: IncomingMessage },
  early: { readonly toClient: Uint8Array; readonly toServer: Uint8Array },
  drop: () => void,
): void {
  const { socket, opened, answer } = sides;
  opened.on("error", drop);
  opened.once("close", drop);
  socket.on("error", drop);
  const lines = [`HTTP/1.1 101 ${STATUS_CODES[101] ?? "Switching Protocols"}`];
  for (let index = 0; index + 1 < answer.rawHeaders.length; index += 2) {
    const name = answer.rawHeaders[index] ?? "";
    if (HANDSHAKE_HEADER.test(name.toLowerCase())) {
      lines.push(`${name}: ${answer.rawHeaders[index + 1] ?? ""}`);
    }
  }
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  if (early.toClient.length > 0) socket.write(early.toClient);
  if (early.toServer.length > 0) opened.write(early.toServer);
  socket.pipe(opened);
  opened.pipe(socket);
}

async function readRefusal(answer: IncomingMessage): Promise<Response> {
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) {
    if (name === "set-cookie" || value === undefined) continue;
    headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  const body: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of Readable.from(answer)) {
    bytes += chunk.length;
    if (bytes > REFUSAL_BYTES_MAX) throw new RangeError("the refusal is too long");
    body.push(chunk);
  }
  const status = answer.statusCode ?? 502;
  const isBodyless = status === 204 || status === 205 || status === 304;
  return new Response(isBodyless ? null : new Blob(body as Uint8Array<ArrayBuffer>[]), {
    // A 1xx or 2xx status is not a refusal that a client could understand.
    status: status < 300 ? 502 : status,
    headers,
  });
}
