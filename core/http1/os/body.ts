/**
 * Reads the body of a request from its connection, with back-pressure. A truncated body fails, so
 * that it is never taken as complete.
 *
 * @module
 */

import { createChunkDecoder } from "core/http1/chunked.ts";
import type { RequestFraming } from "core/http1/request_head.ts";
import type { BodyBytes } from "core/http1/plain_http.ts";
import type { Wire } from "core/http1/os/wire.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

/** The body of one request. */
export class RequestBody {
  readonly #wire: Wire;
  readonly #source: Source;
  #mustInvite: boolean;
  #isBegun = false;
  #isGivenUp = false;
  #stream: ReadableStream<Bytes> | undefined;

  /** `isWaiting` if the sender waits for a 100 first. */
  constructor(
    wire: Wire,
    framing: Exclude<RequestFraming, { readonly kind: "none" }>,
    isWaiting: boolean,
  ) {
    this.#wire = wire;
    this.#source = framing.kind === "length" ? lengthBody(wire, framing.bytes) : chunkedBody(wire);
    this.#mustInvite = isWaiting;
    wire.bodyChecks = 0;
  }

  /** The body as a stream. */
  get stream(): ReadableStream<Bytes> {
    return this.#stream ??= new ReadableStream<Bytes>({
      pull: async (controller) => {
        const piece = await this.#next();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
    }, { highWaterMark: 0 });
  }

  /** The complete body of at most `bytesMax`; synchronous if it has arrived already. */
  whole(bytesMax: number): BodyBytes | Promise<BodyBytes> {
    if (this.#source.leastLeft() > bytesMax) return "too-long";
    const here = this.#source.takeWhole();
    if (here === undefined) return this.#gather(bytesMax);
    this.#isBegun = true;
    this.#end();
    return here;
  }

  async #gather(bytesMax: number): Promise<BodyBytes> {
    const pieces: Bytes[] = [];
    let length = 0;
    for (let piece = await this.#next(); piece !== undefined; piece = await this.#next()) {
      length += piece.length;
      if (length > bytesMax) return "too-long";
      pieces.push(piece);
    }
    return await new Blob(pieces).bytes();
  }

  async #next(): Promise<Bytes | undefined> {
    if (this.#isGivenUp) throw new Error("the body was discarded");
    this.#isBegun = true;
    if (this.#mustInvite && this.#wire.buffered === 0) await this.#wire.writeHead(CONTINUE);
    this.#mustInvite = false;
    const piece = await this.#source.next();
    if (this.#isGivenUp) throw new Error("the body was discarded");
    if (this.#source.isDone()) this.#end();
    return piece;
  }

  /**
   * Returns whether the connection has no bytes of this body left. Drops the arrived bytes of an
   * unread body. A body that is being read is left alone, because dropping bytes would corrupt it.
   */
  discard(): boolean {
    if (this.#isBegun) return this.#source.isDone() && this.#source.discard();
    this.#isGivenUp = true;
    const isRest = this.#source.discard();
    if (isRest) this.#end();
    return isRest;
  }

  /** Stops reading; a pending read fails because the body is incomplete. */
  giveUp(): void {
    this.#isGivenUp = true;
  }

  #end(): void {
    if (this.#wire.bodyChecks === undefined) return;
    this.#wire.bodyChecks = undefined;
    void this.#wire.watch();
  }
}

interface Source {
  /** Minimum number of bytes still expected. */
  leastLeft(): number;
  /** The complete body, if it has arrived and its end is known. */
  takeWhole(): Bytes | undefined;
  /** The next piece; undefined at the end; rejects if the sender disconnected before. */
  next(): Promise<Bytes | undefined>;
  /** Whether all of it has been read from the connection. */
  isDone(): boolean;
  discard(): boolean;
}

function lengthBody(wire: Wire, bytes: number): Source {
  let left = bytes;
  return {
    leastLeft: () => left,
    takeWhole: () => {
      if (wire.buffered < left) return undefined;
      const whole = wire.takeBuffered(left);
      left = 0;
      return whole;
    },
    next: async () => {
      if (left === 0) return undefined;
      const piece = await wire.take(left);
      if (piece === undefined) throw new Error("the sender left within the body");
      left -= piece.length;
      return piece;
    },
    isDone: () => left === 0,
    discard: () => (left -= wire.skipBuffered(left)) === 0,
  };
}

function chunkedBody(wire: Wire): Source {
  const decoder = createChunkDecoder();
  const ready: Bytes[] = [];
  let isBroken = false;
  const decode = (bytes: Bytes) => {
    try {
      return decoder.take(bytes);
    } catch (thrown) {
      isBroken = true;
      throw thrown;
    }
  };
  return {
    leastLeft: () => 0,
    takeWhole: () => undefined,
    next: async () => {
      for (;;) {
        const piece = ready.shift();
        if (piece !== undefined) return piece;
        if (decoder.isDone()) return undefined;
        const bytes = await wire.take(Infinity);
        if (bytes === undefined) throw new Error("the sender left within the body");
        ready.push(...decode(bytes));
      }
    },
    isDone: () => decoder.isDone(),
    discard: () => {
      if (isBroken) return false;
      try {
        if (!decoder.isDone()) decode(wire.takeBuffered(Infinity));
      } catch {
        return false;
      }
      // With a surplus, the decoder consumed bytes of the next request: the connection is unusable.
      return decoder.isDone() && decoder.surplus() === 0;
    },
  };
}
