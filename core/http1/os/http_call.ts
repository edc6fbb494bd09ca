/**
 * Short requests over reused connections, HTTP/1.1 over plain TCP or TLS; the platform verifies
 * certificates. No redirects, no decompression, no retries; all input is bounded. The caller
 * decides what to send where. Why fleetctl has its own code: ADR 0017.
 *
 * Idle connections are read, so that one that the server has closed, or on which it sends
 * unsolicited bytes, is not reused.
 *
 * @module
 */

import { printRequestHead } from "core/http1/messages.ts";
import {
  type HttpCall,
  type HttpCallAnswer,
  HttpCallFault,
  type HttpCallRequest,
} from "core/http1/http_call.ts";
import { HTTP_CALL_LIMITS } from "core/limits/http.ts";
import { errorText } from "core/errors.ts";
import { putLatin1 } from "core/http1/os/latin1.ts";
import { bodyOf } from "core/http1/os/upstream_body.ts";
import { type Link, linkOf, readAnswerHead } from "core/http1/os/upstream_link.ts";
import { readBytes } from "core/net/bounded_body.ts";
import { err, ok } from "core/result.ts";
import { strictUtf8 } from "core/text/utf8.ts";

/** Sends calls and owns their connections. */
export interface HttpCalls {
  readonly call: HttpCall;
  /** Number of idle connections. */
  idle(): number;
  /** Closes every connection. */
  close(): void;
}

/** Options that override the machine's defaults. */
export interface HttpCallOptions {
  /** Additional trusted certificates, in PEM. */
  readonly caCerts?: readonly string[];
}

/** Creates calls; connects on the first request. */
export function openHttpCalls(options: HttpCallOptions = {}): HttpCalls {
  const pool = new Pool(options);
  return {
    call: (request) => callOnce(request, pool),
    idle: () => pool.idle(),
    close: () => pool.close(),
  };
}

/** The parsed target of a request. */
interface Target {
  readonly origin: string;
  /** Value of `Host`. */
  readonly host: string;
  readonly hostname: string;
  readonly port: number;
  readonly isTls: boolean;
}

const encoder = new TextEncoder();
const decoder = strictUtf8();
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

/** Sends and receives. If a failure follows the head of the answer, the answer has no body. */
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
  // A server may answer and close before it has read everything. Its answer counts.
  void link.write(message).then(() => {
    isSent = true;
  }, () => {});
  const head = await readAnswerHead(link, request.method);
  if (head === undefined) throw new HttpCallFault("unanswered", "the connection was closed");
  const { status, headers, framing, isKept } = head;
  const header = (name: string) => headers.find(([known]) => known === name)?.[1];
  let isWhole = false;
  const body = bodyOf(link, framing, (whole) => isWhole = whole);
  const read = body instanceof Uint8Array
    ? ok(body)
    : await readBytes(body, request.answerBytesMax).catch(err);
  if (isWhole && isKept && isSent && link.isEmpty()) pool.keep(link, target);
  else pool.drop(link);
  const isReadable = read.ok && read.value.length <= request.answerBytesMax &&
    (header("content-encoding") ?? "identity").toLowerCase() === "identity";
  return { status, header, body: isReadable ? textOf(read.value) : undefined };
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Serializes head and body into one buffer. Throws on invalid input. */
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
/** Cache of parsed origins: few origins get many requests. */
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

/** How late a timeout may fire. */
const LOOK_MS = 50;

/** Timeouts of many calls on one timer; a timer per call would cost as much as its write. */
class Deadlines {
  readonly #open = new Set<{ readonly at: number; readonly run: () => void }>();
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Calls `run` after a time; returns a function that cancels it. */
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

/** Connection pool by origin. */
class Pool {
  readonly deadlines = new Deadlines();
  readonly #options: HttpCallOptions;
  readonly #open = new Set<Link>();
  readonly #idle = new Map<string, Link[]>();
  #idleCount = 0;
  /** Connections in progress, including those of cancelled calls. */
  #making = 0;
  #isClosed = false;

  constructor(options: HttpCallOptions) {
    this.#options = options;
  }

  /** The most recently used idle connection, because it is the least likely to be closed. */
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
    // Any event now is a close or unsolicited bytes, unless a request has started since.
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
      throw new HttpCallFault("unmade", "too many connections are being opened");
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
      // A handshake cannot be cancelled: it keeps the socket until the server closes it.
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
    // Only keep-alive detects a peer that vanishes during a handshake.
    plain.setKeepAlive(true);
    if (!isTls) return plain;
    const secured = await Deno.startTls(plain, {
      hostname,
      alpnProtocols: ["http/1.1"],
      ...(caCerts === undefined ? {} : { caCerts: [...caCerts] }),
    });
    open = secured;
    // Verify the certificate first, so that a failure means that nothing was sent.
    const { alpnProtocol } = await secured.handshake();
    if (alpnProtocol !== null && alpnProtocol !== "http/1.1") {
      throw new Error("the server does not offer HTTP/1.1");
    }
    return secured;
  } catch (thrown) {
    open.close();
    throw thrown;
  }
}
