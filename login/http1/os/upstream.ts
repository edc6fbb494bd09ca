/**
 * A client of one HTTP/1.1 server that forwards messages unchanged. Compressed bodies stay
 * compressed, and both directions stream with back-pressure. The platform's `fetch` would
 * decompress a body and keep the headers of the compressed one. Decides nothing about what may
 * pass.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { AbortHandle } from "login/abort_handle.ts";
import { UPSTREAM_LIMITS } from "core/limits/http.ts";
import { printRequestHead } from "core/http1/messages.ts";
import type { ListenAddress } from "core/ports/sockets.ts";
import { UpstreamFault } from "core/http1/upstream_fault.ts";
import type { Upstream, UpstreamAnswer, UpstreamRequest } from "login/http1/proxy_port.ts";
import { printAddress } from "core/os/address.ts";
import { type Link, openLink, readAnswerHead } from "core/http1/os/upstream_link.ts";
import { bodyOf } from "core/http1/os/upstream_body.ts";

/** Methods whose request may be retried if a kept connection turns out to be closed. */
const REPEATABLE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Creates an upstream; connects on the first request. */
export function openUpstream(at: ListenAddress): Upstream {
  const host = printAddress(at);
  const open = new Set<Link>();
  const idle: Link[] = [];
  const drop = (link: Link) => {
    open.delete(link);
    link.close();
  };
  const takeIdle = (): Link | undefined => {
    for (let link = idle.pop(); link !== undefined; link = idle.pop()) {
      const isFresh = performance.now() - link.idleSince < UPSTREAM_LIMITS.idleMsMax;
      if (isFresh && link.isEmpty()) return link;
      drop(link);
    }
    return undefined;
  };
  const keep = (link: Link) => {
    const since = link.idleSince = performance.now();
    if (idle.push(link) > UPSTREAM_LIMITS.idleConnectionsMax) drop(idle.shift() ?? link);
    // Any event now is a close or unsolicited bytes, unless a request has started since.
    void link.watch().then(() => {
      const at = idle.indexOf(link);
      if (at === -1 || link.idleSince !== since) return;
      idle.splice(at, 1);
      drop(link);
    });
  };
  const connect = async (abortHandle: AbortHandle): Promise<Link> => {
    const link = await openLink(at);
    if (abortHandle.reason !== undefined) {
      link.close();
      throw new UpstreamFault("aborted", "the request was aborted");
    }
    open.add(link);
    return link;
  };
  return {
    send: async (request) => {
      const { abortHandle } = request;
      if (abortHandle.reason !== undefined) {
        throw new UpstreamFault("aborted", "the request was aborted");
      }
      // A server may close a kept connection at any time. So use one only for repeatable requests.
      const isRepeatable = request.body === null && REPEATABLE.has(request.method);
      const kept = isRepeatable ? takeIdle() : undefined;
      if (kept !== undefined) {
        const answer = await exchange(kept, request, { host, keep, drop });
        if (answer !== undefined) return answer;
      }
      const answer = await exchange(await connect(abortHandle), request, { host, keep, drop });
      if (answer === undefined) {
        throw new UpstreamFault("unreachable", "it closed the connection without an answer");
      }
      return answer;
    },
    close: () => {
      for (const link of [...open]) drop(link);
      idle.length = 0;
    },
  };
}

interface Owner {
  readonly host: string;
  keep(link: Link): void;
  drop(link: Link): void;
}

/** Sends and receives over one connection; undefined if it was closed before any answer. */
async function exchange(
  link: Link,
  request: UpstreamRequest,
  owner: Owner,
): Promise<UpstreamAnswer | undefined> {
  const { abortHandle } = request;
  const ignore = abortHandle.onAbort(() => owner.drop(link));
  try {
    const sent = send(link, request, owner.host);
    const head = await readAnswerHead(link, request.method);
    if (head === undefined) {
      ignore();
      owner.drop(link);
      if (abortHandle.reason !== undefined) {
        throw new UpstreamFault("aborted", "the request was aborted");
      }
      return undefined;
    }
    const { status, headers, framing, isKept } = head;
    const body = bodyOf(link, framing, (isWhole) => {
      ignore();
      if (isWhole && isKept && sent.isDone() && link.isEmpty()) owner.keep(link);
      else owner.drop(link);
      request.onEnd();
    });
    return { status, headers, body };
  } catch (thrown) {
    ignore();
    owner.drop(link);
    if (abortHandle.reason !== undefined) {
      throw new UpstreamFault("aborted", "the request was aborted");
    }
    throw thrown;
  }
}

/** Starts to send. A failure shows in the answer, or in its absence. */
function send(
  link: Link,
  request: UpstreamRequest,
  host: string,
): { readonly isDone: () => boolean } {
  const { body, bodyBytes } = request;
  const framed = body === null ? undefined : bodyBytes ?? "chunked";
  let isDone = false;
  const head = printRequestHead(request, { host, body: framed });
  void link.writeHead(head).then(async () => {
    if (body !== null) await sendBody(link, body, bodyBytes);
    isDone = true;
  }).catch(() => {});
  return { isDone: () => isDone };
}

async function sendBody(
  link: Link,
  body: ReadableStream<Uint8Array>,
  bodyBytes: number | undefined,
): Promise<void> {
  const isChunked = bodyBytes === undefined;
  let left = bodyBytes ?? Infinity;
  const reader = body.getReader();
  const next = async () => {
    try {
      return await reader.read();
    } catch (thrown) {
      // Close, so that the server sees that the request is incomplete.
      link.close();
      throw thrown;
    }
  };
  try {
    for (let part = await next(); !part.done; part = await next()) {
      const { value } = part;
      if (value.length === 0) continue;
      left -= value.length;
      if (left < 0) break;
      if (isChunked) await link.write(Buffer.from(`${value.length.toString(16)}\r\n`, "latin1"));
      await link.write(value);
      if (isChunked) await link.write(CRLF);
    }
    if (isChunked) return await link.write(LAST_CHUNK);
    if (left === 0) return;
    // A wrong length would desynchronize the next request.
    link.close();
    throw new RangeError("the body does not match its declared length");
  } catch (thrown) {
    await reader.cancel(thrown).catch(() => {});
    throw thrown;
  }
}

const CRLF = Buffer.from("\r\n", "latin1");
const LAST_CHUNK = Buffer.from("0\r\n\r\n", "latin1");
