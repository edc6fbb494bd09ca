/**
 * A listener for HTTP/1.1 on raw connections: one request at a time, strict parsing, and a bounded
 * time for each part of a request. `node:http` costs several times as much when the caller must
 * wait for every answer. No routing and no policy. Refused input: docs/http1.md. Why fleetctl has
 * its own code: ADR 0012.
 *
 * @module
 */

import { type HeadFault, parseRequestHead, type RequestHead } from "core/http1/request_head.ts";
import type { BodyBytes } from "core/http1/plain_http.ts";
import type { Log } from "core/ports/log.ts";
import type { Processes } from "core/ports/processes.ts";
import type { ListenAddress, Listener } from "core/ports/sockets.ts";
import { WIRE_LIMITS } from "core/http1/wire_limits.ts";
import { addressFault } from "core/os/address.ts";
import { systemClock } from "core/os/clock.ts";
import { type Answer, type Answering, writeAnswer } from "core/http1/os/answer.ts";
import { RequestBody } from "core/http1/os/body.ts";
import { ConnectionLimits } from "core/http1/os/connection_limits.ts";
import { type Connection, Wire } from "core/http1/os/wire.ts";
import { CLOSE_GRACE_MS, type ServerTimes } from "core/os/node_server.ts";

/**
 * A received request and its connection's view of the peer. Values are created only on use.
 */
export class Http1Request {
  readonly #wire: Wire;
  readonly #body: RequestBody | undefined;
  #disconnectCallbacks: (() => void)[] | undefined;

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

  /**
   * Returns the whole body as bytes, in place of the stream `body`. Synchronous if it has arrived;
   * rejects if it is truncated.
   */
  whole(bytesMax: number): BodyBytes | Promise<BodyBytes> {
    return this.#body === undefined ? NOTHING : this.#body.whole(bytesMax);
  }

  /** Calls `run` if the sender disconnects before the answer has ended. */
  onDisconnect(run: () => void): void {
    // If the peer has disconnected already, run the callback now.
    if (this.#wire.isDisconnected) return run();
    if (this.#disconnectCallbacks === undefined) {
      const callbacks: (() => void)[] = this.#disconnectCallbacks = [];
      this.#wire.onDisconnect = () => callbacks.splice(0).forEach((one) => one());
    }
    this.#disconnectCallbacks.push(run);
  }
}

const NOTHING = new Uint8Array(0);

/** Handlers of requests and upgrades. */
export interface Http1Handlers {
  answer(request: Http1Request): Promise<Answer>;
  /**
   * Takes over the connection, which closes when the promise settles. Without this handler an
   * upgrade request is answered like any other.
   */
  upgrade?(request: Http1Request, wire: Wire): Promise<void>;
  /**
   * Returns one key for all peers of one client; undefined for a peer that serves many clients.
   */
  clientOf?(peer: string): string | undefined;
}

/** Timeouts and limits of connections, in addition to those of every listener. */
export type WireBounds = Readonly<Partial<Record<keyof typeof WIRE_LIMITS, number>>>;

/** Dependencies of a listener. */
export interface Http1Deps {
  readonly processes: Processes;
  readonly log: Log;
  readonly times: ServerTimes;
  /** Tests shorten them. */
  readonly bounds?: WireBounds | undefined;
}

/** Delay after a fault of `accept`, such as too many open files. */
const ACCEPT_AGAIN_MS = 50;
/** Number of idle connections that are closed when descriptors run out. */
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
  return serveConnections(listener, handlers, deps);
}

/** Source of connections; `accept` rejects after it is closed. */
export interface Connections extends Pick<Deno.TcpListener, "addr" | "close"> {
  accept(): Promise<Connection>;
}

/** Serves the connections of a listener. */
export function serveConnections(
  listener: Connections,
  handlers: Http1Handlers,
  deps: Omit<Http1Deps, "processes">,
): Listener {
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
  readonly #listener: Connections;
  readonly #handlers: Http1Handlers;
  readonly #deps: Omit<Http1Deps, "processes">;
  readonly #bounds: Readonly<Record<keyof typeof WIRE_LIMITS, number>>;
  readonly #limits: ConnectionLimits;
  #refusing = 0;
  #fullLoggedMs = -Infinity;
  readonly #open = new Map<Wire, Promise<void>>();
  readonly #upgraded = new Set<Wire>();
  readonly #sweep: ReturnType<typeof setInterval>;
  #isClosing = false;

  constructor(
    listener: Connections,
    handlers: Http1Handlers,
    deps: Omit<Http1Deps, "processes">,
  ) {
    this.#listener = listener;
    this.#handlers = handlers;
    this.#deps = deps;
    this.#bounds = { ...WIRE_LIMITS, ...deps.bounds };
    this.#limits = new ConnectionLimits(this.#bounds, systemClock().monotonic);
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
          // Reset before it was accepted.
          connection.close();
          continue;
        }
      } catch (thrown) {
        if (this.#isClosing) return;
        this.#limits.makeRoom(ROOM_AT_ONCE);
        this.#logFull("connection_not_accepted", { error: thrown });
        await systemClock().sleep(ACCEPT_AGAIN_MS);
        continue;
      }
      const client = this.#handlers.clientOf?.(wire.peer);
      if (this.#limits.admit(wire, client)) this.#open.set(wire, this.#serve(wire));
      else this.#refuseConnection(wire, client);
    }
  }

  /** Refuses a connection at the limit; without an answer if too many are being refused. */
  #refuseConnection(wire: Wire, client: string | undefined): void {
    this.#logFull("connections_full", { open: this.#limits.size, client });
    if (this.#refusing >= this.#bounds.refusingMax) return wire.close();
    this.#refusing++;
    wire.wait("write");
    const headers = [["retry-after", String(this.#bounds.refusedRetrySeconds)]] as const;
    const refusing = refuse(wire, 503, headers).then(async () => {
      wire.close();
      await wire.settled();
      this.#refusing--;
      this.#open.delete(wire);
    });
    this.#open.set(wire, refusing);
  }

  #logFull(event: string, fields: Readonly<Record<string, unknown>>): void {
    const now = systemClock().monotonic();
    if (now - this.#fullLoggedMs < this.#bounds.fullLogMs) return;
    this.#fullLoggedMs = now;
    this.#deps.log.warning(event, fields);
  }

  async close(graceMs: number): Promise<void> {
    this.#isClosing = true;
    this.#listener.close();
    // A tunnel needs no graceful end.
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
    this.#limits.delete(wire);
    await wire.settled();
    this.#open.delete(wire);
  }

  /** Reads and answers one request; returns false if the connection must be closed. */
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
    if (wire.isDisconnected) {
      if (answer.body instanceof ReadableStream) await answer.body.cancel().catch(() => {});
      return false;
    }
    // Drop an unread body if it has arrived completely; else close the connection.
    const isRead = body === undefined || body.discard();
    const isKept = await this.#write(wire, answer, {
      head: request.head,
      isKept: isRead && request.head.isKept && !this.#isClosing,
      keepAliveMs: this.#deps.times.keepAliveMs,
    });
    wire.onDisconnect = undefined;
    if (isKept || wire.isDisconnected) return isKept;
    if (!isRead) {
      body.giveUp();
      wire.bodyChecks = undefined;
      await wire.linger();
    }
    return false;
  }

  async #write(wire: Wire, answer: Answer, to: Answering): Promise<boolean> {
    wire.wait("write");
    try {
      return await writeAnswer(wire, answer, to);
    } catch (thrown) {
      // The head is invalid, so nothing has been sent.
      this.#deps.log.error("http_handler_failed", { error: thrown });
      return await writeAnswer(wire, { status: 500, headers: [], body: null }, to);
    }
  }

  /** Closes connections that exceed their timeout. */
  #closeLate(): void {
    const { times } = this.#deps;
    const bounds = this.#bounds;
    for (const wire of this.#open.keys()) {
      // At the first check it has waited for less than one interval.
      const late = wire.checks++ * times.checkMs;
      const lateBody = wire.bodyChecks === undefined ? 0 : wire.bodyChecks++ * times.checkMs;
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
        case "write":
          if (late >= bounds.writeStallMsMax) wire.close();
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

/** Answers a timeout without waiting for the peer to read it. */
function tooLate(wire: Wire): void {
  wire.bodyChecks = undefined;
  wire.wait("end");
  refuse(wire, 408).catch(() => {}).finally(() => wire.close());
}

/**
 * Answers a request that is invalid, late or beyond the connection limit. Returns false, because
 * the start of the next request is unknown and the connection must be closed.
 */
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
  if (!isWhole && !wire.isDisconnected && status !== 408) await wire.linger();
  return false;
}
