/**
 * Writes an answer: the head and a short body in one write, a stream with back-pressure. If an
 * answer fails half-way, the connection must be closed, so that the peer sees the truncation.
 *
 * @module
 */

import { STATUS_CODES } from "node:http";
import { printHeader } from "core/http1/messages.ts";
import type { RequestHead } from "core/http1/request_head.ts";
import { WIRE_LIMITS } from "core/http1/wire_limits.ts";
import type { Wire } from "core/http1/os/wire.ts";

/** An answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Iterable<readonly [string, string]>;
  readonly body: ReadableStream<Uint8Array> | Uint8Array | null;
}

/** The answered request, and whether the connection stays open. */
export interface Answering {
  readonly head: Pick<RequestHead, "method" | "minor">;
  readonly isKept: boolean;
  readonly keepAliveMs: number;
}

/** Statuses that carry no body (RFC 9110). */
const BODYLESS: ReadonlySet<number> = new Set([204, 205, 304]);
/** Headers that belong to one connection, and those that are written here. */
const OWN: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
  "content-length",
]);
const LENGTH = /^[0-9]{1,15}$/;
/** A chunk of at most this size is sent in one write with its size line. */
const CHUNK_JOINED_MAX = 16 * 1024;
const LAST_CHUNK = new TextEncoder().encode("0\r\n\r\n");

/** Replaces an answer that failed before any of it was sent. */
const BROKEN_OFF: Answer = { status: 502, headers: [], body: null };

/**
 * Writes an answer; returns false if the connection must be closed. Never rejects for a peer.
 */
export async function writeAnswer(wire: Wire, made: Answer, to: Answering): Promise<boolean> {
  const answer = to.head.minor === 0 ? await withKnownEnd(wire, made, to) : made;
  const { status, body } = answer;
  const hasBody = to.head.method !== "HEAD" && !BODYLESS.has(status);
  const stream = body instanceof ReadableStream ? body : undefined;
  const bytes = hasBody && body instanceof Uint8Array ? body : undefined;
  const declared = lengthOf(answer.headers);
  const isStream = hasBody && stream !== undefined;
  const isChunked = isStream && declared === undefined && to.head.minor === 1;
  const isKept = to.isKept && !(isStream && declared === undefined && !isChunked);
  let text: string;
  try {
    text = printHead(answer, {
      isKept,
      keepAliveMs: to.keepAliveMs,
      isChunked,
      length: bytes?.length ?? (isStream ? declared : emptyLength(answer, to, declared)),
    });
  } catch (thrown) {
    await stream?.cancel(thrown).catch(() => {});
    throw thrown;
  }
  try {
    await wire.writeHead(text, bytes);
  } catch {
    await stream?.cancel().catch(() => {});
    return false;
  }
  if (!isStream) {
    await stream?.cancel().catch(() => {});
    return isKept;
  }
  return await writeStream(wire, stream, { isChunked, length: declared }) && isKept;
}

/**
 * HTTP/1.0 has no chunks: without a length the connection's end is the body's end, and a truncated
 * body looks complete (RFC 9112, 6.3). So a body of unknown length is buffered to get a length. A
 * longer body is streamed without one. An event stream is never buffered: it has no end, and its
 * readers drop an incomplete event.
 */
async function withKnownEnd(wire: Wire, answer: Answer, { head }: Answering): Promise<Answer> {
  const { status, headers, body } = answer;
  const isOpen = body instanceof ReadableStream && head.method !== "HEAD" &&
    !BODYLESS.has(status) && lengthOf(headers) === undefined && !isEventStream(headers);
  if (!isOpen) return answer;
  wire.wait("answer");
  const reader = body.getReader();
  const { onDisconnect } = wire;
  wire.onDisconnect = () => {
    onDisconnect?.();
    reader.cancel().catch(() => {});
  };
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  try {
    while (bytes <= WIRE_LIMITS.gatheredBytesMax) {
      const { done, value } = await reader.read();
      if (done) return { status, headers, body: await new Blob(pieces).bytes() };
      pieces.push(value as Uint8Array<ArrayBuffer>);
      bytes += value.length;
    }
  } catch {
    return BROKEN_OFF;
  } finally {
    if (!wire.isDisconnected) wire.onDisconnect = onDisconnect;
  }
  return { status, headers, body: streamOf(pieces, reader) };
}

/** Joins the bytes already read of a stream and the rest of it. */
function streamOf(
  pieces: Uint8Array[],
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: async (controller) => {
      const value = pieces.shift() ?? (await reader.read()).value;
      if (value === undefined) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
}

function isEventStream(headers: Answer["headers"]): boolean {
  for (const [name, value] of headers) {
    if (name === "content-type" && value.startsWith("text/event-stream")) return true;
  }
  return false;
}

/**
 * The `Content-Length` of an answer sent without a body: for HEAD and 304, that of the omitted
 * body; undefined if it is unknown, and for 204.
 */
function emptyLength(
  { status, body }: Answer,
  { head }: Answering,
  declared: number | undefined,
): number | undefined {
  if (status === 204 || status === 205) return status === 205 ? 0 : undefined;
  if (head.method === "HEAD" || status === 304) {
    return body instanceof Uint8Array && declared === undefined ? body.length : declared;
  }
  return 0;
}

async function writeStream(
  wire: Wire,
  stream: ReadableStream<Uint8Array>,
  { isChunked, length }: { readonly isChunked: boolean; readonly length: number | undefined },
): Promise<boolean> {
  const reader = stream.getReader();
  const { onDisconnect } = wire;
  const giveUp = () => void reader.cancel().catch(() => {});
  wire.onDisconnect = () => {
    onDisconnect?.();
    giveUp();
  };
  if (wire.isDisconnected) giveUp();
  let left = length ?? Infinity;
  try {
    for (;;) {
      wire.wait("answer");
      const { done, value } = await reader.read();
      if (done) break;
      if (wire.isDisconnected) return false;
      left -= value.length;
      if (left < 0) throw new RangeError("the answer is longer than its stated length");
      wire.wait("write");
      if (isChunked) await writeChunk(wire, value);
      else await wire.write(value);
    }
    if (wire.isDisconnected || (length !== undefined && left > 0)) return false;
    if (isChunked) await wire.write(LAST_CHUNK);
    return true;
  } catch {
    await reader.cancel().catch(() => {});
    return false;
  } finally {
    wire.onDisconnect = wire.isDisconnected ? undefined : onDisconnect;
  }
}

async function writeChunk(wire: Wire, piece: Uint8Array): Promise<void> {
  if (piece.length === 0) return;
  const size = `${piece.length.toString(16)}\r\n`;
  if (piece.length <= CHUNK_JOINED_MAX - size.length - 2) {
    const joined = new Uint8Array(size.length + piece.length + 2);
    for (let at = 0; at < size.length; at++) joined[at] = size.charCodeAt(at);
    joined.set(piece, size.length);
    joined[joined.length - 2] = 0x0d;
    joined[joined.length - 1] = 0x0a;
    return await wire.write(joined);
  }
  await wire.writeHead(size);
  await wire.write(piece);
  await wire.writeHead("\r\n");
}

function printHead(
  { status, headers }: Answer,
  framing: {
    readonly isKept: boolean;
    readonly keepAliveMs: number;
    readonly isChunked: boolean;
    readonly length: number | undefined;
  },
): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Unknown"}\r\n`;
  let isDated = false;
  for (const [name, value] of headers) {
    if (OWN.has(name)) continue;
    if (name === "date") isDated = true;
    text += printHeader(name, value);
  }
  if (!isDated) text += dateLine();
  if (framing.isChunked) text += "transfer-encoding: chunked\r\n";
  else if (framing.length !== undefined) text += `content-length: ${framing.length}\r\n`;
  return framing.isKept
    ? `${text}connection: keep-alive\r\nkeep-alive: timeout=${
      Math.floor(framing.keepAliveMs / 1000)
    }\r\n\r\n`
    : `${text}connection: close\r\n\r\n`;
}

/** The declared length of an answer: the last valid one; undefined if there is none. */
function lengthOf(headers: Answer["headers"]): number | undefined {
  let length: number | undefined;
  for (const [name, value] of headers) {
    if (name === "content-length" && LENGTH.test(value)) length = Number(value);
  }
  return length;
}

let dateSecond = 0;
let dateText = "";

function dateLine(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = `date: ${new Date(second * 1000).toUTCString()}\r\n`;
  }
  return dateText;
}
