/**
 * Reads HTTP/1.1 with the listener and the client of `core/http1`, over in-memory connections whose
 * pieces arrive one by one.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Http1Request } from "core/http1/os/server.ts";
import { serveConnections } from "core/http1/os/server.ts";
import { bodyOf } from "core/http1/os/upstream_body.ts";
import { linkOf, readAnswerHead } from "core/http1/os/upstream_link.ts";
import type { Connection, Wire } from "core/http1/os/wire.ts";
import { UpstreamFault } from "core/http1/upstream_fault.ts";
import { HTTP_LIMITS } from "core/limits/http.ts";
import { recordingLog } from "tests/fakes/log.ts";
import type { Ending, Message } from "tests/core/http1/os/reading.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** How the listener read a connection. */
export interface OwnRequests {
  readonly messages: readonly Message[];
  readonly ending: Ending;
}

/** How the client read a connection. */
export interface OwnAnswer extends OwnRequests {
  /** Bytes after the answer that were not consumed with its body. */
  readonly rest: string;
  /** Whether the client consumed exactly the body. */
  readonly isExact: boolean;
}

const ADDRESS: Deno.NetAddr = { transport: "tcp", hostname: "127.0.0.1", port: 1 };
/** Status and `Connection` of the listener's answers. A 100 (Continue) is not an answer. */
const SAID = /HTTP\/1\.1 (?!100)(\d+) [^]*?\r\nconnection: ([a-z-]+)\r\n/g;

/** The peer of a connection: what it sends, what it receives, and whether it has closed. */
class Peer implements Connection {
  readonly remoteAddr = ADDRESS;
  readonly closed = Promise.withResolvers<void>();
  told = "";
  isClosed = false;
  #pieces: Bytes[];
  #hasEnded = false;
  #waiting: ((read: number | null) => void) | undefined;

  /** With `isEnding` the peer closes after its last piece, otherwise when `end()` is called. */
  constructor(pieces: readonly Bytes[], isEnding: boolean) {
    this.#pieces = [...pieces];
    this.#hasEnded = isEnding;
  }

  /** Whether the connection is closed, or only the end of the peer can make progress. */
  get isStuck(): boolean {
    return this.isClosed || this.#waiting !== undefined;
  }

  read(into: Uint8Array): Promise<number | null> {
    const [piece] = this.#pieces;
    if (piece === undefined) {
      if (this.#hasEnded || this.isClosed) return Promise.resolve(null);
      return new Promise((resolve) => this.#waiting = resolve);
    }
    const taken = piece.subarray(0, into.length);
    into.set(taken);
    if (taken.length < piece.length) this.#pieces[0] = piece.subarray(taken.length);
    else this.#pieces.shift();
    return Promise.resolve(taken.length);
  }

  end(): void {
    this.#hasEnded = true;
    this.#waiting?.(null);
    this.#waiting = undefined;
  }

  write(bytes: Uint8Array): Promise<number> {
    this.told += latin1(bytes);
    return Promise.resolve(bytes.length);
  }

  closeWrite(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.isClosed = true;
    this.#waiting?.(null);
    this.closed.resolve();
  }

  setNoDelay(): void {}
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

async function textOf(body: AsyncIterable<Uint8Array>, into: { body: string }): Promise<void> {
  for await (const piece of body) into.body += latin1(piece);
}

/** A listener whose connections come from the test. */
export class OwnListener {
  #accept = Promise.withResolvers<Connection>();
  #messages: Message[] = [];
  #ending: Ending | undefined;
  readonly log = recordingLog();
  readonly #server = serveConnections(
    {
      addr: ADDRESS,
      accept: async () => {
        const connection = await this.#accept.promise;
        this.#accept = Promise.withResolvers();
        return connection;
      },
      close: () => this.#accept.reject(new Error("closed")),
    },
    {
      answer: async (request) => {
        await this.#take(request);
        return { status: 200, headers: [], body: null };
      },
      upgrade: async (request, wire) => {
        await this.#take(request);
        this.#ending = { kind: "upgraded", rest: await restOf(wire) };
      },
    },
    { log: this.log, times: HTTP_LIMITS },
  );

  /** Reads all requests of a connection, and then its end. */
  async read(pieces: readonly Bytes[]): Promise<OwnRequests> {
    const peer = new Peer(pieces, false);
    this.#messages = [];
    this.#ending = undefined;
    this.#accept.resolve(peer);
    // Uses no timer and no socket, so one turn of the event loop does all possible work.
    do await new Promise((resolve) => setImmediate(resolve)); while (!peer.isStuck);
    peer.end();
    await peer.closed.promise;
    return { messages: this.#messages, ending: this.#ending ?? endingOf(peer.told) };
  }

  close(): Promise<void> {
    return this.#server.close(0);
  }

  async #take({ head, body }: Http1Request): Promise<void> {
    const { method, target, minor, isKept, isUpgrade } = head;
    const headers = [...head.headers];
    const read = { body: "" };
    try {
      if (body !== null) await textOf(body, read);
    } catch (thrown) {
      this.#ending = thrown instanceof SyntaxError
        ? { kind: "refused", stage: "body", reason: thrown.message }
        : { kind: "cut", stage: "body" };
      return;
    }
    this.#messages.push({
      method,
      target,
      status: 0,
      minor,
      headers,
      body: read.body,
      isKept,
      isUpgrade,
    });
  }
}

/** Runs with a listener, and fails if the listener has logged anything. */
export async function withListener(run: (listener: OwnListener) => Promise<void>): Promise<void> {
  const listener = new OwnListener();
  try {
    await run(listener);
  } finally {
    await listener.close();
  }
  assert.deepEqual(listener.log.lines, []);
}

async function restOf(wire: Wire): Promise<string> {
  let rest = "";
  for (;;) {
    const piece = await wire.take(Infinity);
    if (piece === undefined) return rest;
    rest += latin1(piece);
  }
}

/** Derives the ending from the last answer. An incomplete head gets no answer. */
function endingOf(told: string): Ending {
  const [, status = "200", connection] = [...told.matchAll(SAID)].at(-1) ?? [];
  if (status !== "200") return { kind: "refused", stage: "head", reason: status };
  return { kind: connection === "close" ? "closed" : "ended" };
}

/** Reads the answer to one request with the client, and then the end of the connection. */
export async function readOwnAnswer(pieces: readonly Bytes[], method: string): Promise<OwnAnswer> {
  const link = linkOf(new Peer(pieces, true));
  const read = { body: "" };
  const messages: Message[] = [];
  const ends = (ending: Ending) => ({ messages, ending, rest: "", isExact: false });
  let stage: "head" | "body" = "head";
  try {
    const head = await readAnswerHead(link, method);
    if (head === undefined) return ends({ kind: "ended" });
    const { status, headers, framing, isKept } = head;
    stage = "body";
    let isExact = false;
    const body = bodyOf(link, framing, (isWhole) => isExact = isWhole);
    if (body instanceof Uint8Array) read.body = latin1(body);
    else if (body !== null) await textOf(body, read);
    messages.push({
      method: "",
      target: "",
      status,
      minor: 0,
      headers,
      body: read.body,
      isKept,
      isUpgrade: false,
    });
    let rest = "";
    for (let piece = await link.take(Infinity); piece !== undefined;) {
      rest += latin1(piece);
      piece = await link.take(Infinity);
    }
    return { messages, ending: { kind: rest === "" ? "ended" : "closed" }, rest, isExact };
  } catch (thrown) {
    if (!(thrown instanceof UpstreamFault)) throw thrown;
    const isCut = /^it ended within/.test(thrown.message);
    return ends(
      isCut ? { kind: "cut", stage } : { kind: "refused", stage, reason: thrown.message },
    );
  }
}
