/**
 * The body of a request off its connection, read no faster than it is asked for. A body that ends
 * before its end fails, so that nobody takes half of it for the whole.
 *
 * @module
 */

import { createChunkDecoder } from "core/chunked.ts";
import type { RequestFraming } from "core/http1_request.ts";
import type { Wire } from "core/os/http1_wire.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";

/** The body of one request. */
export interface RequestBody {
  readonly stream: ReadableStream<Bytes>;
  /**
   * Whether nothing of it is left on the connection. What nobody has begun to read is dropped as far as it
   * has arrived; what somebody reads is left alone, because it would have a hole.
   */
  discard(): boolean;
  /** Ends it where it is: who still reads it learns that it is not whole. */
  giveUp(): void;
}

/** Makes the body of a request; `isWaiting` when its sender wants a 100 first. */
export function requestBody(
  wire: Wire,
  framing: Exclude<RequestFraming, { readonly kind: "none" }>,
  isWaiting: boolean,
): RequestBody {
  const body = framing.kind === "length" ? lengthBody(wire, framing.bytes) : chunkedBody(wire);
  let mustInvite = isWaiting;
  let isBegun = false;
  let isGivenUp = false;
  wire.bodyLooks = 0;
  const end = () => {
    if (wire.bodyLooks === undefined) return;
    wire.bodyLooks = undefined;
    void wire.watch();
  };
  const stream = new ReadableStream<Bytes>({
    pull: async (controller) => {
      if (isGivenUp) throw new Error("the body was given up");
      isBegun = true;
      if (mustInvite && wire.buffered === 0) await wire.writeHead(CONTINUE);
      mustInvite = false;
      const piece = await body.next();
      if (isGivenUp) throw new Error("the body was given up");
      if (body.isDone()) end();
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
  }, { highWaterMark: 0 });
  return {
    stream,
    discard: () => {
      if (isBegun) return body.isDone() && body.discard();
      isGivenUp = true;
      const isRest = body.discard();
      if (isRest) end();
      return isRest;
    },
    giveUp: () => {
      isGivenUp = true;
    },
  };
}

interface Source {
  /** The next piece; undefined at the end; rejects when the sender left before it. */
  next(): Promise<Bytes | undefined>;
  /** Whether all of it has been read off the connection. */
  isDone(): boolean;
  discard(): boolean;
}

function lengthBody(wire: Wire, bytes: number): Source {
  let left = bytes;
  return {
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
      // What came behind it was taken with it: the next request is not whole any more.
      return decoder.isDone() && decoder.surplus() === 0;
    },
  };
}
