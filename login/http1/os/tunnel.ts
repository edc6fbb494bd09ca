/**
 * Tunnels an upgrade to another server of this machine: forwards the handshake and its answer, then
 * copies bytes both ways with back-pressure. Parses no frames and decides nothing; the owner of the
 * listener has decided before.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import {
  parseAnswerHead,
  parseHeaderLine,
  printHeader,
  printRequestHead,
} from "core/http1/messages.ts";
import { UPSTREAM_LIMITS } from "core/limits/http.ts";
import { readBytes } from "core/net/bounded_body.ts";
import type { UpgradeTunnel } from "core/ports/sockets.ts";
import { WIRE_LIMITS } from "core/http1/wire_limits.ts";
import { printAddress } from "core/os/address.ts";
import { systemClock } from "core/os/clock.ts";
import { type Answer, writeAnswer } from "core/http1/os/answer.ts";
import type { Wire } from "core/http1/os/wire.ts";
import { bodyOf } from "core/http1/os/upstream_body.ts";
import { type Link, openLink } from "core/http1/os/upstream_link.ts";
import { ok } from "core/result.ts";

/** Headers of the other server's 101 that the client needs. */
const HANDSHAKE_HEADER = /^(?:upgrade|connection|sec-websocket-[a-z]+)$/;
const SWITCHING = /^HTTP\/1\.1 101(?: |\r|$)/;
/** Maximum size of a forwarded refusal. */
const REFUSAL_BYTES_MAX = 64 * 1024;
/** Maximum size of one read. */
const PIECE_BYTES_MAX = WIRE_LIMITS.headBytesMax;

/** Runs a tunnel until either side ends it, then calls `onClose`. */
export async function runTunnel(tunnel: UpgradeTunnel, wire: Wire): Promise<void> {
  const { signal } = tunnel;
  let link: Link | undefined;
  let isOver = false;
  let ended = () => {};
  const drop = () => {
    isOver = true;
    link?.close();
    wire.close();
  };
  wire.onDisconnect = drop;
  if (wire.isDisconnected || signal.aborted) drop();
  signal.addEventListener("abort", drop, { once: true });
  const late = systemClock().after(tunnel.timeoutMs, () => link?.close());
  try {
    let answered: string | Answer;
    try {
      if (isOver) return;
      link = await openLink(tunnel.to);
      if (isOver) return;
      answered = await ask(link, tunnel);
    } catch (thrown) {
      answered = tunnel.unreachable(errorText(thrown));
    } finally {
      late();
    }
    if (isOver) return;
    if (typeof answered !== "string" || link === undefined) {
      link?.close();
      return await refuseUpgrade(wire, answered as Answer);
    }
    // A peer that disconnects may have sent bytes before. They are still forwarded, for a while.
    wire.onDisconnect = () => {
      if (!isOver) ended = systemClock().after(WIRE_LIMITS.lingerMsMax, drop);
    };
    await wire.writeHead(switching(answered));
    wire.wait("answer");
    await Promise.all([pass(wire, link, drop), pass(link, wire, drop)]);
  } finally {
    signal.removeEventListener("abort", drop);
    ended();
    drop();
    tunnel.onClose();
  }
}

/**
 * Answers a refused upgrade and waits for the peer to read it. A client may send data before the
 * 101, and closing over unread data would reset the connection and lose the refusal.
 */
export async function refuseUpgrade(wire: Wire, answer: Answer): Promise<void> {
  wire.wait("write");
  await writeAnswer(wire, answer, {
    head: { method: "GET", minor: 1 },
    isKept: false,
    keepAliveMs: 0,
  });
  if (!wire.isDisconnected) await wire.linger();
}

/** Sends the handshake; returns the head of a 101, or the refusal. */
async function ask(link: Link, tunnel: UpgradeTunnel): Promise<string | Answer> {
  const headers = [...tunnel.headers, ["connection", "Upgrade"], ["upgrade", "websocket"]] as const;
  await link.writeHead(printRequestHead(
    { method: "GET", target: tunnel.target, headers: headers as Iterable<[string, string]> },
    { host: printAddress(tunnel.to), body: undefined },
  ));
  const text = await link.readHead(UPSTREAM_LIMITS.headBytesMax);
  if (text === undefined) throw new Error("it gave no answer");
  return SWITCHING.test(text) ? text : await refusalOf(link, text);
}

async function refusalOf(link: Link, text: string): Promise<Answer> {
  const head = parseAnswerHead(text, "GET");
  if (!head.ok) throw new Error(head.error);
  const { status, headers, framing } = head.value;
  const body = bodyOf(link, framing, () => {});
  const bytes = body instanceof Uint8Array ? ok(body) : await readBytes(body, REFUSAL_BYTES_MAX);
  if (!bytes.ok) throw new RangeError("the refusal is too long");
  return {
    // A 1xx or a success is not a refusal.
    status: status < 300 ? 502 : status,
    headers: headers.filter(([name]) => name !== "set-cookie" && name !== "content-length"),
    body: bytes.value,
  };
}

/** The 101 for the client, with the handshake headers of the other server's 101. */
function switching(head: string): string {
  let text = "HTTP/1.1 101 Switching Protocols\r\n";
  for (const line of head.split("\r\n").slice(1)) {
    const header = parseHeaderLine(line);
    if (header !== undefined && HANDSHAKE_HEADER.test(header[0])) text += printHeader(...header);
  }
  return `${text}\r\n`;
}

/** Copies bytes until one side closes, then closes the other. */
async function pass(from: Wire | Link, to: Wire | Link, drop: () => void): Promise<void> {
  try {
    for (;;) {
      const piece = await from.take(PIECE_BYTES_MAX);
      if (piece === undefined) break;
      await to.write(piece);
    }
  } catch {
    // A reset ends the tunnel too.
  }
  drop();
}
