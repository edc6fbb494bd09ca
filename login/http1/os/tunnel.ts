/**
 * Hands an upgrade on to another server of this machine: asks it with the client's own handshake, gives
 * the client its answer, and then passes bytes both ways, no faster than they are taken. Looks at no
 * frame and decides nothing; whoever owns the listener has decided before.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { parseAnswerHead, parseHeaderLine, printHeader, printRequestHead } from "core/http1.ts";
import { UPSTREAM_LIMITS } from "core/limits.ts";
import type { UpgradeTunnel } from "core/ports.ts";
import { WIRE_LIMITS } from "core/wire_limits.ts";
import { printAddress } from "core/os/address.ts";
import { systemClock } from "core/os/clock.ts";
import { type Answer, writeAnswer } from "core/os/http1_answer.ts";
import type { Wire } from "core/os/http1_wire.ts";
import { bodyOf } from "core/os/upstream_body.ts";
import { type Link, openLink } from "core/os/upstream_link.ts";

/** Headers of the other server's 101 that the client needs. */
const HANDSHAKE_HEADER = /^(?:upgrade|connection|sec-websocket-[a-z]+)$/;
const SWITCHING = /^HTTP\/1\.1 101(?: |\r|$)/;
/** A refusal of the other server is passed on up to this size. */
const REFUSAL_BYTES_MAX = 64 * 1024;
/** Read and passed on at once. */
const PIECE_BYTES_MAX = WIRE_LIMITS.headBytesMax;

/** Runs a tunnel to its end, whichever side brings it, and calls `onClose`. */
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
  wire.onLeft = drop;
  if (wire.hasLeft || signal.aborted) drop();
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
    // What was sent before the end is passed on, if the other side takes it in time.
    wire.onLeft = () => {
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
 * Answers a refused upgrade, and waits for the peer to hear that: a client that does not wait for the
 * 101 has sent more by then, and closing over it would take the refusal away.
 */
export async function refuseUpgrade(wire: Wire, answer: Answer): Promise<void> {
  wire.wait("taker");
  await writeAnswer(wire, answer, {
    head: { method: "GET", minor: 1 },
    isKept: false,
    keepAliveMs: 0,
  });
  if (!wire.hasLeft) await wire.linger();
}

/** Sends the handshake; the head of its answer when the server has switched protocols. */
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
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  if (body instanceof Uint8Array) pieces.push(body);
  else if (body !== null) {
    for await (const piece of body) {
      bytes += piece.length;
      if (bytes > REFUSAL_BYTES_MAX) throw new RangeError("the refusal is too long");
      pieces.push(piece);
    }
  }
  return {
    // A 1xx or a success is no refusal that a client could read.
    status: status < 300 ? 502 : status,
    headers: headers.filter(([name]) => name !== "set-cookie" && name !== "content-length"),
    body: await new Blob(pieces).bytes(),
  };
}

/** The 101 for the client, with what a handshake needs of the other server's. */
function switching(head: string): string {
  let text = "HTTP/1.1 101 Switching Protocols\r\n";
  for (const line of head.split("\r\n").slice(1)) {
    const header = parseHeaderLine(line);
    if (header !== undefined && HANDSHAKE_HEADER.test(header[0])) text += printHeader(...header);
  }
  return `${text}\r\n`;
}

/** Passes bytes on until one side is gone; the other goes with it. */
async function pass(from: Wire | Link, to: Wire | Link, drop: () => void): Promise<void> {
  try {
    for (;;) {
      const piece = await from.take(PIECE_BYTES_MAX);
      if (piece === undefined) break;
      await to.write(piece);
    }
  } catch {
    // Reset is an end as well.
  }
  drop();
}
