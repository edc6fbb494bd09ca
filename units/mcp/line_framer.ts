/**
 * Splits bytes into lines, the framing of MCP over stdio and unix sockets. Pure. A line over the
 * limit is not stored: only its size and envelope are. Its call can then be answered, and later
 * lines are still read.
 *
 * @module
 */

import { createEnvelopeScanner, type Envelope, type EnvelopeScanner } from "units/mcp/envelope.ts";

/** One line as it arrived. */
export type Frame =
  /** `bytes` includes the newline. */
  | { readonly kind: "line"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: "oversize"; readonly size: number; readonly envelope: Envelope };

const NEWLINE = 0x0a;

/** Splits a stream of chunks into lines. */
export interface LineFramer {
  /** Returns the lines that end in this chunk. The chunk is not used after the call returns. */
  push(chunk: Uint8Array): readonly Frame[];
  /** Number of bytes of the unfinished line. */
  pendingBytes(): number;
}

/** Creates a framer; `lineBytesMax` counts the line without its newline. */
export function createLineFramer(lineBytesMax: number): LineFramer {
  let parts: Uint8Array[] = [];
  let size = 0;
  let scanner: EnvelopeScanner | undefined;

  const take = (piece: Uint8Array) => {
    size += piece.length;
    if (scanner !== undefined) {
      scanner.feed(piece);
    } else if (size > lineBytesMax) {
      scanner = createEnvelopeScanner();
      for (const part of parts) scanner.feed(part);
      scanner.feed(piece);
      parts = [];
    } else {
      // Copied, because the reader may reuse its buffer.
      parts.push(piece.slice());
    }
  };

  const finish = (): Frame => {
    const frame: Frame = scanner !== undefined
      ? { kind: "oversize", size, envelope: scanner.result() }
      : { kind: "line", bytes: joinLine(parts, size) };
    parts = [];
    size = 0;
    scanner = undefined;
    return frame;
  };

  return {
    push(chunk) {
      const frames: Frame[] = [];
      let from = 0;
      for (;;) {
        const end = chunk.indexOf(NEWLINE, from);
        if (end === -1) break;
        // The usual case: the whole line in one chunk, copied once.
        if (size === 0 && end - from <= lineBytesMax) {
          frames.push({ kind: "line", bytes: new Uint8Array(chunk.subarray(from, end + 1)) });
        } else {
          take(chunk.subarray(from, end));
          frames.push(finish());
        }
        from = end + 1;
      }
      if (from < chunk.length) take(chunk.subarray(from));
      return frames;
    },
    pendingBytes: () => size,
  };
}

function joinLine(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size + 1);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  whole[size] = NEWLINE;
  return whole;
}
