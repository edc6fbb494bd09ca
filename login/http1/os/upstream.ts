/**
 * A client of one HTTP/1.1 server that passes messages on as they are: what is packed stays packed,
 * what is told of length and range stays true, and both ways stream with back-pressure. The
 * platform's `fetch` would unpack bodies and keep their headers. No policy.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { Cut } from "core/cut.ts";
import { UPSTREAM_LIMITS } from "core/limits.ts";
import { parseAnswerHead, printRequestHead } from "core/http1.ts";
import type { ListenAddress } from "core/ports.ts";
import {
  type Upstream,
  type UpstreamAnswer,
  UpstreamFault,
  type UpstreamRequest,
} from "core/proxy_port.ts";
import { printAddress } from "core/os/address.ts";
import { type Link, openLink, readAnswerHead } from "core/os/upstream_link.ts";
import { bodyOf } from "core/os/upstream_body.ts";

/** Methods whose request may be sent again when a kept connection turns out to be closed. */
const REPEATABLE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Opens an upstream; connects when something is sent. */
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
      if (performance.now() - link.idleSince < UPSTREAM_LIMITS.idleMsMax) return link;
      drop(link);
    }
    return undefined;
  };
  const keep = (link: Link) => {
    link.idleSince = performance.now();
    if (idle.push(link) > UPSTREAM_LIMITS.idleConnectionsMax) drop(idle.shift() ?? link);
  };
  const connect = async (cut: Cut): Promise<Link> => {
    const link = await openLink(at);
    if (cut.reason !== undefined) {
      link.close();
      throw new UpstreamFault("aborted", "the request was given up");
    }
    open.add(link);
    return link;
  };
  return {
    send: async (request) => {
      const { cut } = request;
      if (cut.reason !== undefined) throw new UpstreamFault("aborted", "the request was given up");
      // A server may close a kept connection at any time. Only what may be sent twice takes one.
      const isRepeatable = request.body === null && REPEATABLE.has(request.method);
      const kept = isRepeatable ? takeIdle() : undefined;
      if (kept !== undefined) {
        const answer = await exchange(kept, request, { host, keep, drop });
        if (answer !== undefined) return answer;
      }
      const answer = await exchange(await connect(cut), request, { host, keep, drop });
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

/** Sends and receives over one connection; undefined when it was closed before any answer. */
async function exchange(
  link: Link,
  request: UpstreamRequest,
  owner: Owner,
): Promise<UpstreamAnswer | undefined> {
  const { cut } = request;
  const ignore = cut.on(() => owner.drop(link));
  try {
    const sent = send(link, request, owner.host);
    const text = await readAnswerHead(link);
    if (text === undefined) {
      ignore();
      owner.drop(link);
      if (cut.reason !== undefined) throw new UpstreamFault("aborted", "the request was given up");
      return undefined;
    }
    const head = parseAnswerHead(text, request.method);
    if (!head.ok) throw new UpstreamFault("malformed", head.error);
    const { status, headers, framing, isKept } = head.value;
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
    if (cut.reason !== undefined) throw new UpstreamFault("aborted", "the request was given up");
    throw thrown;
  }
}

/** Begins to send; what fails on the way out shows in what comes back, or in that nothing does. */
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
      // Half a request has to be seen as one: only the end of the connection says so.
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
    // What is missing would be taken from the next request, what is too much for one.
    link.close();
    throw new RangeError("the body is not as long as it says");
  } catch (thrown) {
    await reader.cancel(thrown).catch(() => {});
    throw thrown;
  }
}

const CRLF = Buffer.from("\r\n", "latin1");
const LAST_CHUNK = Buffer.from("0\r\n\r\n", "latin1");
