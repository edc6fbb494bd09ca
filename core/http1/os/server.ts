/**
 * A listener for HTTP/1.1 on bare connections: one request after the other, strict about what a request
 * is, and bounded in the time that a peer may take for each part of it. `node:http` costs several times
 * as much where every answer has to be waited for. No routing and no policy.
 *
 * @module
 */

import { type HeadFault, parseRequestHead, type RequestHead } from "core/http1_request.ts";
import type { BodyBytes } from "core/plain_http.ts";
import type { ListenAddress, Listener, Log, Processes } from "core/ports.ts";
import { WIRE_LIMITS } from "core/wire_limits.ts";
import { addressFault } from "core/os/address.ts";
import { systemClock } from "core/os/clock.ts";
import { type Answer, type Answering, writeAnswer } from "core/os/http1_answer.ts";
import { RequestBody } from "core/os/http1_body.ts";
import { Crowd } from "core/os/http1_crowd.ts";
import { Wire } from "core/os/http1_wire.ts";
import { CLOSE_GRACE_MS, type ServerTimes } from "core/os/node_server.ts";

/** A request as it came in, and its connection's view of the peer. Nothing is made that nobody asks for. */
export class Http1Request {
  readonly #wire: Wire;
  readonly #body: RequestBody | undefined;
  #goners: (() => void)[] | undefined;

  constructor(readonly head: RequestHead, wire: Wire, body: RequestBody | undefined) {
    this.#wire = wire;
    this.#body = body;
  }

  get peer(): string {
    return this.#wire.peer;
  }

  get body(): ReadableStream<Uint8Array<ArrayBuffer>> | null {
    return this.#body?.stream ?? null;
  }

  /** The body as bytes, instead of `body`; at once when all of it is here. Rejects when it is cut. */
  whole(bytesMax: number): BodyBytes | Promise<BodyBytes> {
    return this.#body === undefined ? NOTHING : this.#body.whole(bytesMax);
  }

  /** Calls back when the sender is gone before its answer has ended. */
  onGone(run: () => void): void {
    // Who left before anybody asked is told of no more.
    if (this.#wire.hasLeft) return run();
    if (this.#goners === undefined) {
      const goners: (() => void)[] = this.#goners = [];
      this.#wire.onLeft = () => goners.splice(0).forEach((one) => one());
    }
    this.#goners.push(run);
  }
}

const NOTHING = new Uint8Array(0);

/** What the owner of a listener does with what comes in. */
export interface Http1Handlers {
  answer(request: Http1Request): Promise<Answer>;
  /**
   * Takes the connection over; it is closed when the promise settles. Without it, who asks for an upgrade
   * is answered like anybody else.
   */
  upgrade?(request: Http1Request, wire: Wire): Promise<void>;
  /** One text for all peers of one client; undefined for one that speaks for many, and if not given. */
  clientOf?(peer: string): string | undefined;
}

/** Times of a connection besides those of every listener, and how many there may be. */
export type WireBounds = Readonly<Partial<Record<keyof typeof WIRE_LIMITS, number>>>;

/** What a listener is made of. */
export interface Http1Deps {
  readonly processes: Processes;
  readonly log: Log;
  readonly times: ServerTimes;
  /** Tests shorten them. */
  readonly bounds?: WireBounds | undefined;
}

/** After a fault of `accept`, such as too many open files, the next try waits. */
const ACCEPT_AGAIN_MS = 50;
/** When descriptors run out, so many of the connections that wait make room at once. */
const ROOM_AT_ONCE = 64;

/** Listens; rejects with `AddressFault`. */
export async function serveHttp1(
  at: ListenAddress,
  handlers: Http1Handlers,
  deps: Http1Deps,
): Promise<Listener> {
  let listener: Deno.TcpListener;
  try {
    listener = Deno.listen({ hostname: at.hostname, port: at.port });
  } catch (thrown) {
    throw await addressFault(at, thrown, deps.processes);
  }
  const server = new Http1Server(listener, handlers, deps);
  const accepting = server.accept();
  let closing: Promise<void> | undefined;
  return {
    address: { hostname: listener.addr.hostname, port: listener.addr.port },
    close: (graceMs = CLOSE_GRACE_MS) =>
      closing ??= server.close(graceMs).then(async () => await accepting),
  };
}

class Http1Server {
  readonly #listener: Deno.TcpListener;
  readonly #handlers: Http1Handlers;
  readonly #deps: Http1Deps;
  readonly #bounds: Readonly<Record<keyof typeof WIRE_LIMITS, number>>;
  readonly #crowd: Crowd;
  #turnedAway = 0;
  #fullToldMs = -Infinity;
  readonly #open = new Map<Wire, Promise<void>>();
  readonly #upgraded = new Set<Wire>();
  readonly #sweep: ReturnType<typeof setInterval>;
  #isClosing = false;

  constructor(listener: Deno.TcpListener, handlers: Http1Handlers, deps: Http1Deps) {
    this.#listener = listener;
    this.#handlers = handlers;
    this.#deps = deps;
    this.#bounds = { ...WIRE_LIMITS, ...deps.bounds };
    this.#crowd = new Crowd(this.#bounds, systemClock().monotonic);
    this.#sweep = setInterval(() => this.#closeLate(), deps.times.checkMs);
  }

  async accept(): Promise<void> {
    while (!this.#isClosing) {
      let wire: Wire | undefined;
      try {
        const connection = await this.#listener.accept();
        try {
          wire = new Wire(connection);
        } catch {
          // It was reset before anybody looked at it.
          connection.close();
          continue;
        }
      } catch (thrown) {
        if (this.#isClosing) return;
        this.#crowd.makeRoom(ROOM_AT_ONCE);
        this.#tellFull("connection_not_accepted", { error: thrown });
        await systemClock().sleep(ACCEPT_AGAIN_MS);
        continue;
      }
      const client = this.#handlers.clientOf?.(wire.peer);
      if (this.#crowd.admit(wire, client)) this.#open.set(wire, this.#serve(wire));
      else this.#turnAway(wire, client);
    }
  }

  /** Says that there is no room, and ends the connection; says nothing when many are being told. */
  #turnAway(wire: Wire, client: string | undefined): void {
    this.#tellFull("connections_full", { open: this.#crowd.size, client });
    if (this.#turnedAway >= this.#bounds.turnedAwayMax) return wire.close();
    this.#turnedAway++;
    wire.wait("taker");
    const headers = [["retry-after", String(this.#bounds.turnedAwayRetrySeconds)]] as const;
    const telling = refuse(wire, 503, headers).then(async () => {
      wire.close();
      await wire.settled();
      this.#turnedAway--;
      this.#open.delete(wire);
    });
    this.#open.set(wire, telling);
  }

  #tellFull(event: string, fields: Readonly<Record<string, unknown>>): void {
    const now = systemClock().monotonic();
    if (now - this.#fullToldMs < this.#bounds.fullNewsMs) return;
    this.#fullToldMs = now;
    this.#deps.log.warning(event, fields);
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    this.#listener.close();
    // What goes through a tunnel is not ours to end politely, and need not be waited for.
    for (const wire of this.#upgraded) wire.close();
    for (const wire of this.#open.keys()) {
      if (wire.waiting === "head" && wire.buffered === 0) wire.close();
    }
    const cancel = systemClock().after(graceMs, () => {
      for (const wire of this.#open.keys()) wire.close();
    });
    while (this.#open.size > 0) await Promise.all(this.#open.values());
    cancel();
    clearInterval(this.#sweep);
  }

  async #serve(wire: Wire): Promise<void> {
    try {
      while (await this.#exchange(wire) && !this.#isClosing) {
        wire.isReused = true;
        wire.wait("head");
      }
    } catch (thrown) {
      this.#deps.log.error("http_handler_failed", { error: thrown });
    }
    wire.close();
    this.#crowd.delete(wire);
    await wire.settled();
    this.#open.delete(wire);
  }

  /** Takes one request and answers it; false when the connection is to be closed. */
  async #exchange(wire: Wire): Promise<boolean> {
    const text = await wire.readHead();
    if (text === undefined) return false;
    const head = typeof text === "string" ? parseRequestHead(text) : undefined;
    if (head?.ok !== true) return await refuse(wire, head?.error ?? (text as HeadFault));
    const { framing, isWaiting, isUpgrade } = head.value;
    wire.wait("handler");
    const body = framing.kind === "none" ? undefined : new RequestBody(wire, framing, isWaiting);
    const request = new Http1Request(head.value, wire, body);
    if (body === undefined) void wire.watch();
    if (isUpgrade && this.#handlers.upgrade !== undefined) {
      return await this.#upgrade(request, wire);
    }
    return await this.#answer(request, wire, body);
  }

  async #upgrade(request: Http1Request, wire: Wire): Promise<false> {
    this.#upgraded.add(wire);
    try {
      await this.#handlers.upgrade?.(request, wire);
    } finally {
      this.#upgraded.delete(wire);
    }
    return false;
  }

  async #answer(
    request: Http1Request,
    wire: Wire,
    body: RequestBody | undefined,
  ): Promise<boolean> {
    let answer: Answer;
    try {
      answer = await this.#handlers.answer(request);
    } catch (thrown) {
      this.#deps.log.error("http_handler_failed", { error: thrown });
      answer = { status: 500, headers: [], body: null };
    }
    if (wire.hasLeft) {
      if (answer.body instanceof ReadableStream) await answer.body.cancel().catch(() => {});
      return false;
    }
    // A body that nobody wanted: what is there of it is dropped, what is not ends the connection.
    const isRead = body === undefined || body.discard();
    const isKept = await this.#write(wire, answer, {
      head: request.head,
      isKept: isRead && request.head.isKept && !this.#isClosing,
      keepAliveMs: this.#deps.times.keepAliveMs,
    });
    wire.onLeft = undefined;
    if (isKept || wire.hasLeft) return isKept;
    if (!isRead) {
      body.giveUp();
      wire.bodyLooks = undefined;
      await wire.linger();
    }
    return false;
  }

  async #write(wire: Wire, answer: Answer, to: Answering): Promise<boolean> {
    wire.wait("taker");
    try {
      return await writeAnswer(wire, answer, to);
    } catch (thrown) {
      // Its head cannot be printed, so nothing of it has been sent.
      this.#deps.log.error("http_handler_failed", { error: thrown });
      return await writeAnswer(wire, { status: 500, headers: [], body: null }, to);
    }
  }

  /** Closes what has taken longer than it may. */
  #closeLate(): void {
    const { times } = this.#deps;
    const bounds = this.#bounds;
    for (const wire of this.#open.keys()) {
      // At its first look something has waited for less than the time between two.
      const late = wire.looks++ * times.checkMs;
      const lateBody = wire.bodyLooks === undefined ? 0 : wire.bodyLooks++ * times.checkMs;
      if (lateBody >= times.requestMsMax) {
        if (wire.waiting === "handler") tooLate(wire);
        else wire.close();
        continue;
      }
      const isIdle = wire.isReused && wire.buffered === 0;
      switch (wire.waiting) {
        case "head":
          if (isIdle && late >= times.keepAliveMs) wire.close();
          else if (late >= times.headersMsMax) tooLate(wire);
          break;
        case "taker":
          if (late >= bounds.takerMsMax) wire.close();
          break;
        case "end":
          if (late >= bounds.lingerMsMax) wire.close();
          break;
        case "handler":
        case "answer":
          break;
      }
    }
  }
}

/** Tells a peer that it has taken too long, and does not wait for it to hear that. */
function tooLate(wire: Wire): void {
  wire.bodyLooks = undefined;
  wire.wait("end");
  refuse(wire, 408).catch(() => {}).finally(() => wire.close());
}

/** Answers what is no request, and ends the connection: where the next one begins is not known. */
async function refuse(
  wire: Wire,
  status: HeadFault | 408 | 503,
  headers: Answer["headers"] = [],
): Promise<false> {
  const isWhole = await writeAnswer(wire, { status, headers, body: null }, {
    head: { method: "GET", minor: 1 },
    isKept: false,
    keepAliveMs: 0,
  });
  if (!isWhole && !wire.hasLeft && status !== 408) await wire.linger();
  return false;
}
