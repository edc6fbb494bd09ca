/**
 * Reads the body of an answer from its connection: as bytes if it has arrived, else as a stream
 * with back-pressure. A truncated body fails, so that it is never taken as complete.
 *
 * @module
 */

import { type ChunkDecoder, createChunkDecoder } from "core/http1/chunked.ts";
import type { Framing } from "core/http1/messages.ts";
import { UpstreamFault } from "core/http1/upstream_fault.ts";
import type { Link } from "core/http1/os/upstream_link.ts";

type Bytes = Uint8Array<ArrayBuffer>;
/** Returns the next piece; undefined at the end of the body; rejects if it is truncated. */
type Next = () => Promise<Bytes | undefined>;

const CUT = "it ended within its body";

/** Reads a body; calls `onEnd` exactly once, with whether the body is complete. */
export function bodyOf(
  link: Link,
  framing: Framing,
  onEnd: (isWhole: boolean) => void,
): ReadableStream<Bytes> | Bytes | null {
  switch (framing.kind) {
    case "none":
      onEnd(true);
      return null;
    case "length": {
      const first = link.takeBuffered(framing.bytes);
      if (first.length === framing.bytes) {
        onEnd(true);
        return first;
      }
      return streamOf(lengthReader(link, first, framing.bytes), onEnd);
    }
    case "chunked": {
      const decoder = createChunkDecoder();
      const ready = [...decode(decoder, link.takeBuffered(Infinity))];
      if (decoder.isDone()) {
        onEnd(decoder.surplus() === 0);
        const [only = new Uint8Array()] = ready;
        return ready.length < 2 ? only : joined(ready);
      }
      return streamOf(chunkReader(link, decoder, ready), onEnd, decoder);
    }
    case "close":
      return streamOf(() => link.take(Infinity), onEnd);
  }
}

function lengthReader(link: Link, first: Bytes, bytes: number): Next {
  let ready: Bytes | undefined = first.length === 0 ? undefined : first;
  let left = bytes - first.length;
  return async () => {
    if (ready !== undefined) {
      const piece = ready;
      ready = undefined;
      return piece;
    }
    if (left === 0) return undefined;
    const piece = await link.take(left);
    if (piece === undefined) throw new UpstreamFault("malformed", CUT);
    left -= piece.length;
    return piece;
  };
}

function chunkReader(link: Link, decoder: ChunkDecoder, ready: Bytes[]): Next {
  return async () => {
    for (;;) {
      const piece = ready.shift();
      if (piece !== undefined) return piece;
      if (decoder.isDone()) return undefined;
      const bytes = await link.take(Infinity);
      if (bytes === undefined) throw new UpstreamFault("malformed", CUT);
      ready.push(...decode(decoder, bytes));
    }
  };
}

function decode(decoder: ChunkDecoder, bytes: Bytes): readonly Bytes[] {
  try {
    return decoder.take(bytes);
  } catch (thrown) {
    throw new UpstreamFault("malformed", thrown instanceof Error ? thrown.message : CUT);
  }
}

function streamOf(
  next: Next,
  onEnd: (isWhole: boolean) => void,
  decoder?: ChunkDecoder,
): ReadableStream<Bytes> {
  let isOver = false;
  const end = (isWhole: boolean) => {
    if (isOver) return;
    isOver = true;
    onEnd(isWhole);
  };
  return new ReadableStream<Bytes>({
    pull: async (controller) => {
      try {
        const piece = await next();
        if (piece !== undefined) return controller.enqueue(piece);
        end(decoder === undefined || decoder.surplus() === 0);
        controller.close();
      } catch (thrown) {
        end(false);
        controller.error(thrown);
      }
    },
    cancel: () => end(false),
  }, { highWaterMark: 0 });
}

function joined(pieces: readonly Bytes[]): Bytes {
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
