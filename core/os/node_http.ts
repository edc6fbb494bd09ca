/**
 * Translates between `node:http` and `Request`/`Response`, and streams both ways with
 * back-pressure. The HTTP and WebSocket listeners of `core/os/` use it. No policy.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { STATUS_CODES } from "node:http";
import { defined } from "core/defined.ts";

const BODYLESS_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);
/** Statuses that must not carry a body (RFC 9110). */
const BODYLESS_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);
/** Headers that belong to one connection, not to the message. */
const HOP_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);

/** Returns the address of the peer as text. */
export function peerOf(message: IncomingMessage): string {
  const { remoteAddress = "unknown", remotePort = 0 } = message.socket;
  return remoteAddress.includes(":")
    ? `[${remoteAddress}]:${remotePort}`
    : `${remoteAddress}:${remotePort}`;
}

/** Builds a `Request`; undefined when its target or a header is invalid HTTP. */
export function requestOf(
  message: IncomingMessage,
  options: { readonly authority: string; readonly signal?: AbortSignal; readonly body: boolean },
): Request | undefined {
  const method = message.method ?? "GET";
  try {
    const { host, target } = targetOf(message, options.authority);
    const headers = new Headers();
    for (let index = 0; index + 1 < message.rawHeaders.length; index += 2) {
      const name = message.rawHeaders[index] ?? "";
      const value = message.rawHeaders[index + 1] ?? "";
      const cookies = name.toLowerCase() === "cookie" ? headers.get(name) : null;
      // Several cookie lines form one list with its own separator (RFC 9113, 8.2.3).
      if (cookies !== null) headers.set(name, `${cookies}; ${value}`);
      else headers.append(name, value);
    }
    // Two `Host` lines arrive as one list. Keep it: readers of the host refuse it (RFC 9112, 3.2).
    if (target !== message.url && !(headers.get("host") ?? "").includes(",")) {
      headers.set("host", host);
    }
    const hasBody = options.body && !BODYLESS_METHODS.has(method);
    return new Request(`http://${host}${target}`, {
      method,
      headers,
      ...defined({ signal: options.signal }),
      ...(hasBody ? { body: bodyOf(message) } : {}),
    });
  } catch {
    return undefined;
  }
}

/**
 * Returns the body of a request as a stream. Cancelling it discards the rest of the body. The
 * platform's own stream would close the connection before the answer is sent, or throw where no
 * caller can catch it.
 */
function bodyOf(message: IncomingMessage): ReadableStream<Uint8Array<ArrayBuffer>> {
  let isOver = false;
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => {
      const end = (isWhole: boolean) => {
        if (isOver) return;
        isOver = true;
        if (isWhole) controller.close();
        else controller.error(new Error("the sender left within the body"));
      };
      message.pause();
      message.on("data", (chunk: Uint8Array) => {
        if (isOver) return;
        controller.enqueue(new Uint8Array(chunk));
        message.pause();
      });
      message.once("end", () => end(true));
      message.on("error", () => end(false));
      message.once("close", () => end(message.complete));
    },
    pull: () => void message.resume(),
    cancel: () => {
      isOver = true;
      // The sender has as long as for any request (`requestMsMax`).
      message.resume();
    },
  }, { highWaterMark: 0 });
}

/**
 * Returns host and path of a request. A target in absolute form, as proxy clients send it,
 * overrides the `Host` header (RFC 9112, 3.2.2). Throws when the target is neither a path nor an
 * absolute URL.
 */
function targetOf(
  message: IncomingMessage,
  authority: string,
): { host: string; target: string } {
  const target = message.url ?? "/";
  if (target.startsWith("/")) return { host: message.headers.host ?? authority, target };
  const absolute = /^https?:\/\/([^/?#@\s]+)(?=[/?#]|$)(.*)$/i.exec(target);
  if (absolute === null) throw new TypeError("the target is neither a path nor an address");
  const [, host = "", rest = ""] = absolute;
  return { host, target: rest.startsWith("/") ? rest : `/${rest}` };
}

/** Writes a `Response`; resolves when all of it is written, or the peer has disconnected. */
export async function sendResponse(response: Response, to: ServerResponse): Promise<void> {
  await sendMessage(response, to);
}

/** Whether the peer has disconnected. Needed because a late listener never sees `close`. */
function isGone(to: ServerResponse): boolean {
  return to.destroyed;
}

/** Writes an answer, whole or streamed; resolves as `sendResponse` does. */
async function sendMessage(
  { status, headers, body }: {
    readonly status: number;
    readonly headers: Iterable<readonly [string, string]>;
    readonly body: ReadableStream<Uint8Array> | Uint8Array | null;
  },
  to: ServerResponse,
): Promise<void> {
  if (isGone(to)) {
    if (body instanceof ReadableStream) await body.cancel();
    return;
  }
  to.writeHead(status, headerPairs(headers));
  const mayHaveBody = to.req.method !== "HEAD" && !BODYLESS_STATUSES.has(status);
  if (body === null || !mayHaveBody) {
    if (body instanceof ReadableStream) await body.cancel();
    to.end();
    return;
  }
  if (body instanceof Uint8Array) {
    to.end(body);
    return;
  }
  to.flushHeaders();
  const reader = body.getReader();
  const onClose = () => void reader.cancel().catch(() => {});
  to.once("close", onClose);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (isGone(to)) {
        await reader.cancel();
        break;
      }
      if (!to.write(value)) await drained(to);
    }
    to.end();
  } catch {
    // The body failed midway. Only a cut connection shows the peer that the answer is incomplete.
    to.destroy();
  } finally {
    to.off("close", onClose);
  }
}

function drained(to: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (isGone(to)) return Promise.resolve();
  const finish = () => {
    to.off("drain", finish);
    to.off("close", finish);
    resolve();
  };
  to.once("drain", finish);
  to.once("close", finish);
  return promise;
}

/** Answers a refused upgrade on its raw connection and closes it. */
export async function refuseUpgrade(response: Response, socket: Duplex): Promise<void> {
  // The body is fleetctl's own refusal, one or two sentences.
  // deno-lint-ignore tree/bounded-body
  const body = new Uint8Array(await response.arrayBuffer());
  const lines = [`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? "Refused"}`];
  for (const [name, value] of headerPairs(response.headers)) {
    if (name !== "content-length") lines.push(`${name}: ${value}`);
  }
  lines.push(`content-length: ${body.length}`, "connection: close", "", "");
  if (socket.destroyed) return;
  socket.write(lines.join("\r\n"));
  socket.end(body);
}

function headerPairs(headers: Iterable<readonly [string, string]>): [string, string][] {
  const pairs: [string, string][] = [];
  for (const [name, value] of headers) {
    if (!HOP_HEADERS.has(name)) pairs.push([name, value]);
  }
  return pairs;
}
