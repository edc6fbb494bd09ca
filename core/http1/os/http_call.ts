/**
 * Short requests over kept connections, HTTP/1.1 in plain or over TLS, which the platform verifies.
 * Follows nothing, unpacks nothing, sends nothing twice, bounds everything. No policy: whom to ask and
 * with what is the caller's.
 *
 * A connection that is kept is read from while it waits, so that one which its server has closed, or on
 * which it says something unasked, is not used again.
 *
 * @module
 */

import { parseAnswerHead, printRequestHead } from "core/http1.ts";
import {
  type HttpCall,
  type HttpCallAnswer,
  HttpCallFault,
  type HttpCallRequest,
} from "core/http_call.ts";
import { HTTP_CALL_LIMITS } from "core/limits.ts";
import { UpstreamFault } from "core/proxy_port.ts";
import { errorText } from "core/errors.ts";
import { putLatin1 } from "core/os/latin1.ts";
import { bodyOf } from "core/os/upstream_body.ts";
import { type Link, linkOf, readAnswerHead } from "core/os/upstream_link.ts";

/** Calls, and the end of what they keep. */
export interface HttpCalls {
  readonly call: HttpCall;
  /** Connections that are kept for a request to come. */
  idle(): number;
  /** Drops every connection. */
  close(): void;
}

/** What differs from the machine's own. */
export interface HttpCallOptions {
  /** Certificates that are trusted besides the machine's, in PEM. */
  readonly caCerts?: readonly string[];
}

/** Opens calls; connects when something is sent. */
export function openHttpCalls(options: HttpCallOptions = {}): HttpCalls {
  const pool = new Pool(options);
  return {
    call: (request) => callOnce(request, pool),
    idle: () => pool.idle(),
    close: () => pool.close(),
  };
}

/** Where a request goes. */
interface Target {
  readonly origin: string;
  /** As `Host` says it. */
  readonly host: string;
  readonly hostname: string;
  readonly port: number;
  readonly isTls: boolean;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const COMMON = [["accept", "*/*"], ["accept-encoding", "identity"], [
  "user-agent",
  "fleetctl",
]] as const;

async function callOnce(request: HttpCallRequest, pool: Pool): Promise<HttpCallAnswer> {
  const { target, path } = targetOf(request.url);
  const message = printMessage(request, target.host, path);
  let [isLate, link]: [boolean, Link | undefined] = [false, undefined];
  const inTime = pool.deadlines.set(request.timeoutMs, () => {
    isLate = true;
    if (link !== undefined) pool.drop(link);
  });
  try {
    link = pool.take(target) ?? await pool.connect(target, request.timeoutMs);
    if (isLate) throw new HttpCallFault("unmade", "no connection in time");
    return await exchange(link, { request, message, target, pool });
  } catch (thrown) {
    if (link !== undefined) pool.drop(link);
    if (thrown instanceof HttpCallFault) throw thrown;
    throw new HttpCallFault("unanswered", isLate ? "no answer in time" : errorText(thrown));
  } finally {
    inTime();
  }
}

/** Sends and receives; what fails after the head leaves the answer without a body. */
async function exchange(
  link: Link,
  of: {
    readonly request: HttpCallRequest;
    readonly message: Uint8Array;
    readonly target: Target;
    readonly pool: Pool;
  },
): Promise<HttpCallAnswer> {
  const { request, message, target, pool } = of;
  let isSent = false;
  // A server may answer before it has read all, and close: what it said counts.
  void link.write(message).then(() => {
    isSent = true;
  }, () => {});
  const text = await readAnswerHead(link);
  if (text === undefined) throw new HttpCallFault("unanswered", "the connection was closed");
  const head = parseAnswerHead(text, request.method);
  if (!head.ok) throw new UpstreamFault("malformed", head.error);
  const { status, headers, framing, isKept } = head.value;
  const header = (name: string) => headers.find(([known]) => known === name)?.[1];
  let isWhole = false;
  const body = bodyOf(link, framing, (whole) => isWhole = whole);
  const bytes = body instanceof ReadableStream
    ? await readWhole(body, request.answerBytesMax).catch(() => undefined)
    : body ?? new Uint8Array();
  if (isWhole && isKept && isSent && link.isEmpty()) pool.keep(link, target);
  else pool.drop(link);
  const isReadable = bytes !== undefined && bytes.length <= request.answerBytesMax &&
    (header("content-encoding") ?? "identity").toLowerCase() === "identity";
  return { status, header, body: isReadable ? textOf(bytes) : undefined };
}

async function readWhole(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    // Leaving the loop gives the rest up.
    if (length > bytesMax) return undefined;
    pieces.push(piece);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Head and body in one piece. Throws on what cannot be sent. */
function printMessage(request: HttpCallRequest, host: string, path: string): Uint8Array {
  const { method, headers } = request;
  const body = encoder.encode(request.body);
  const head = printRequestHead(
    { method, target: path, headers: [...COMMON, ...Object.entries(headers)] },
    { host, body: body.length },
  );
  const message = new Uint8Array(head.length + body.length);
  putLatin1(head, message.subarray(0, head.length));
  message.set(body, head.length);
  return message;
}

const URL_PARTS = /^(https?:\/\/([^/?#@\\\s]+))(\/[\x21\x22\x24-\x7e]*)$/;
/** Origins that were read; few are asked, and each often. */
const targets = new Map<string, Target>();
const TARGETS_KEPT = 64;

function targetOf(url: string): { readonly target: Target; readonly path: string } {
  const [, origin, host, path] = URL_PARTS.exec(url) ?? [];
  if (origin === undefined || host === undefined || path === undefined) {
    throw new TypeError("Cannot send a request: its address cannot be read");
  }
  const known = targets.get(origin);
  if (known !== undefined) return { target: known, path };
  const read = new URL(origin);
  if (read.origin !== origin) {
    throw new TypeError("Cannot send a request: its address can be read in two ways");
  }
  const isTls = read.protocol === "https:";
  const hostname = read.hostname.replace(/^\[|\]$/g, "");
  const port = read.port === "" ? (isTls ? 443 : 80) : Number(read.port);
  const target = { origin, host, hostname, port, isTls };
  if (targets.size >= TARGETS_KEPT) targets.clear();
  targets.set(origin, target);
  return { target, path };
}

/** How much later than said a call may end. */
const LOOK_MS = 50;

/** Ends of many calls, on one timer: one for each would cost as much as its write. */
class Deadlines {
  readonly #open = new Set<{ readonly at: number; readonly run: () => void }>();
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Calls `run` after so long, unless what is returned was called before. */
  set(ms: number, run: () => void): () => void {
    const one = { at: performance.now() + ms, run };
    this.#open.add(one);
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS);
    return () => void this.#open.delete(one);
  }

  #look(): void {
    const now = performance.now();
    for (const one of this.#open) {
      if (one.at > now) continue;
      this.#open.delete(one);
      one.run();
    }
    if (this.#open.size === 0) this.stop();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** Connections by the origin that they lead to. */
class Pool {
  readonly deadlines = new Deadlines();
  readonly #options: HttpCallOptions;
  readonly #open = new Set<Link>();
  readonly #idle = new Map<string, Link[]>();
  #idleCount = 0;
  /** Connections that are being made, those that nobody waits for any more included. */
  #making = 0;
  #isClosed = false;

  constructor(options: HttpCallOptions) {
    this.#options = options;
  }

  /** A kept connection; the one that was used last, because it is the least likely to be gone. */
  take({ origin }: Target): Link | undefined {
    const idle = this.#idle.get(origin) ?? [];
    for (let link = idle.pop(); link !== undefined; link = idle.pop()) {
      this.#idleCount--;
      const isFresh = performance.now() - link.idleSince < HTTP_CALL_LIMITS.idleMsMax;
      if (isFresh && this.#open.has(link) && link.isEmpty()) return link;
      this.drop(link);
    }
    this.#idle.delete(origin);
    return undefined;
  }

  keep(link: Link, { origin }: Target): void {
    if (this.#isClosed || this.#idleCount >= HTTP_CALL_LIMITS.idleConnectionsMax) {
      return this.drop(link);
    }
    const idle = this.#idle.get(origin) ?? [];
    this.#idle.set(origin, idle);
    idle.push(link);
    this.#idleCount++;
    const since = link.idleSince = performance.now();
    // What comes now is the end, or something unasked, unless the next request has begun meanwhile.
    link.watch().then(() => {
      if (link.idleSince === since && idle.includes(link)) this.#forget(link, idle);
    });
  }

  #forget(link: Link, idle: Link[]): void {
    idle.splice(idle.indexOf(link), 1);
    this.#idleCount--;
    this.drop(link);
  }

  idle(): number {
    return this.#idleCount;
  }

  async connect(target: Target, timeoutMs: number): Promise<Link> {
    if (this.#making >= HTTP_CALL_LIMITS.idleConnectionsMax) {
      throw new HttpCallFault("unmade", "too many connections are being made");
    }
    this.#making++;
    const connecting = openConnection(target, this.#options).finally(() => this.#making--);
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(
      () => late.resolve(undefined),
      Math.min(timeoutMs, HTTP_CALL_LIMITS.connectMsMax),
    );
    const connection = await Promise.race([connecting, late.promise]).catch((thrown) => {
      throw new HttpCallFault("unmade", errorText(thrown));
    }).finally(() => clearTimeout(timer));
    if (connection === undefined || this.#isClosed) {
      // A handshake cannot be broken off: closing leaves the socket to it until the server ends it.
      connecting.then((made) => made.close(), () => {});
      throw new HttpCallFault("unmade", "no connection in time");
    }
    const link = linkOf(connection);
    this.#open.add(link);
    return link;
  }

  drop(link: Link): void {
    if (this.#open.delete(link)) link.close();
  }

  close(): void {
    this.#isClosed = true;
    this.deadlines.stop();
    for (const link of [...this.#open]) this.drop(link);
    this.#idle.clear();
    this.#idleCount = 0;
  }
}

async function openConnection(
  { hostname, port, isTls }: Target,
  { caCerts }: HttpCallOptions,
): Promise<Deno.Conn> {
  const plain = await Deno.connect({ hostname, port });
  let open: Deno.Conn = plain;
  try {
    plain.setNoDelay(true);
    // A peer that has vanished in the midst of a handshake is noticed by nothing else.
    plain.setKeepAlive(true);
    if (!isTls) return plain;
    const secured = await Deno.startTls(plain, {
      ...{ hostname, alpnProtocols: ["http/1.1"] },
      ...(caCerts === undefined ? {} : { caCerts: [...caCerts] }),
    });
    open = secured;
    // Before anything is sent, so that a certificate that does not fit is known to have got nothing.
    const { alpnProtocol } = await secured.handshake();
    if (alpnProtocol !== null && alpnProtocol !== "http/1.1") {
      throw new Error("it speaks no HTTP/1.1");
    }
    return secured;
  } catch (thrown) {
    open.close();
    throw thrown;
  }
}
