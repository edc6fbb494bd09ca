/**
 * One WebSocket of the `ws` package behind the `FrameConnection` port, and the client that opens
 * one. `ws` bounds frames before they are in memory, sends pings, and can drop a connection. The
 * platform's own sockets accept frames up to 64 MiB, with no configurable limit. Text frames only:
 * a binary frame closes with 1003.
 *
 * @module
 */

import { type RawData, WebSocket } from "ws";
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import type { FrameConnection, Sockets } from "core/ports/sockets.ts";
import { UpgradeFault } from "core/net/upgrade_fault.ts";
import { shortTextSender } from "core/os/websocket_frame.ts";

const NORMAL = 1000;
const PROTOCOL_ERROR = 1002;
const UNSUPPORTED_DATA = 1003;
const NO_STATUS = 1005;
const LOST = 1006;
const INVALID_TEXT = 1007;
const TOO_BIG = 1009;
/** Longest reason that fits a close frame (RFC 6455, 5.5). */
const REASON_BYTES_MAX = 123;
/** Limits for reading a response that refuses the upgrade: its first bytes, and the time. */
const ANSWER_BYTES_MAX = 256;
const ANSWER_MS_MAX = 2_000;

/** Wraps an open `ws` socket. Events wait until a handler is set. */
export function connectionOf(socket: WebSocket, peer: string): FrameConnection {
  const limit = frameLimitOf(socket);
  const sendShort = shortTextSender(socket);
  let onMessage: ((text: string) => void) | undefined;
  let onAlive = () => {};
  let onClose: ((code: number, reason: string) => void) | undefined;
  let closed: { code: number; reason: string } | undefined;
  let fault: number | undefined;
  const early: string[] = [];

  socket.on("message", (data: RawData, isBinary: boolean) => {
    onAlive();
    if (isBinary) return socket.close(UNSUPPORTED_DATA, "text frames only");
    const text = textOf(data);
    if (onMessage !== undefined) return onMessage(text);
    early.push(text);
    socket.pause();
  });
  socket.on("ping", () => onAlive());
  socket.on("pong", () => onAlive());
  // `close` follows every error. Keep the code with which this side refused a frame.
  socket.on("error", (error) => fault ??= faultCode(error));
  socket.on("close", (code: number, reason: Uint8Array) => {
    closed = { code: closeCode(code, fault), reason: new TextDecoder().decode(reason) };
    onClose?.(closed.code, closed.reason);
  });

  return {
    protocol: socket.protocol,
    peer,
    bufferedBytes: () => socket.bufferedAmount,
    send: (text) => {
      // `onClose` reports a lost connection; frames after it are dropped.
      if (socket.readyState !== WebSocket.OPEN || sendShort(text)) return;
      socket.send(text, () => {});
    },
    close: (code, reason) => socket.close(code, cutReason(reason)),
    terminate: () => socket.terminate(),
    ping: () => {
      if (socket.readyState === WebSocket.OPEN) socket.ping(undefined, undefined, () => {});
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    onMessage: (handler) => {
      onMessage = handler;
      for (const text of early.splice(0)) handler(text);
      socket.resume();
    },
    onAlive: (handler) => {
      onAlive = handler;
    },
    onClose: (handler) => {
      onClose = handler;
      if (closed !== undefined) handler(closed.code, closed.reason);
    },
    setFrameBytesMax: limit.set,
  };
}

/**
 * Returns a setter for the frame limit. `ws` sets the limit when it creates a socket and keeps it
 * in its receiver, which is not public. If a release moves it, this fails at the first connection
 * instead of accepting everything.
 */
function frameLimitOf(socket: WebSocket): { readonly set: (bytes: number) => void } {
  const receiver = (socket as unknown as { _receiver?: { _maxPayload?: unknown } })._receiver;
  if (receiver === undefined || typeof receiver._maxPayload !== "number") {
    socket.terminate();
    throw new Error("Cannot bound frames: this release of ws keeps no limit in its receiver");
  }
  return {
    set: (bytes) => {
      if (!Number.isInteger(bytes) || bytes <= 0) {
        throw new RangeError(`Cannot set the frame limit: value is ${bytes}, must be positive`);
      }
      receiver._maxPayload = bytes;
    },
  };
}

/** Returns the close code that `ws` sends for a frame that it refuses. */
function faultCode(error: Error): number | undefined {
  const { code = "" } = error as { code?: string };
  switch (code) {
    case "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH":
      return TOO_BIG;
    case "WS_ERR_INVALID_UTF8":
      return INVALID_TEXT;
    default:
      return code.startsWith("WS_ERR_") ? PROTOCOL_ERROR : undefined;
  }
}

function closeCode(code: number, fault: number | undefined): number {
  if (code === LOST && fault !== undefined) return fault;
  return code === NO_STATUS ? NORMAL : code;
}

function textOf(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString("utf8");
  return (data instanceof ArrayBuffer ? Buffer.from(data) : data).toString("utf8");
}

/** Cuts between characters, because a close reason must be valid UTF-8. */
function cutReason(reason: string): string {
  const encoder = new TextEncoder();
  if (encoder.encode(reason).length <= REASON_BYTES_MAX) return reason;
  const { read } = encoder.encodeInto(reason, new Uint8Array(REASON_BYTES_MAX));
  return reason.slice(0, read);
}

/** Opens a WebSocket; see `Sockets.connectFrames`. */
export async function connectFrames(
  url: string,
  options: Parameters<Sockets["connectFrames"]>[1],
): Promise<FrameConnection> {
  const { promise, resolve, reject } = Promise.withResolvers<FrameConnection>();
  const socket = new WebSocket(url, [...(options.protocols ?? [])], {
    headers: { ...options.headers },
    maxPayload: options.frameBytesMax,
    handshakeTimeout: options.timeoutMs,
    perMessageDeflate: false,
    followRedirects: false,
  });
  // Never removed: a second error after the first must not end the process.
  socket.on("error", (error) => {
    reject(new Error(`Cannot connect to ${printTarget(url)}: ${error.message}`));
  });
  socket.once("unexpected-response", (request, response) => {
    const status = response.statusCode ?? 0;
    readStart(response).then((text) => {
      const message = `Cannot connect to ${printTarget(url)}: status ${status}`;
      reject(new UpgradeFault(status, text, message));
      request.destroy();
    });
  });
  socket.once("open", () => {
    try {
      resolve(connectionOf(socket, new URL(url).host));
    } catch (thrown) {
      reject(thrown);
    }
  });
  return await promise;
}

/** Reads the beginning of a response; resolves at its end, its failure or the limit. */
function readStart(response: IncomingMessage): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let bytes = Buffer.alloc(0);
  const end = () => resolve(bytes.subarray(0, ANSWER_BYTES_MAX).toString("utf8"));
  response.setTimeout(ANSWER_MS_MAX, end);
  response.on("data", (chunk: Uint8Array) => {
    bytes = Buffer.concat([bytes, chunk]);
    if (bytes.length >= ANSWER_BYTES_MAX) end();
  });
  for (const event of ["end", "error", "close"]) response.on(event, end);
  return promise;
}

/** Prints a URL without query and user information: they may contain a ticket or a password. */
function printTarget(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}
