/**
 * Incremental decoder of the chunked coding (RFC 9112, 7.1). Extensions and trailers are parsed,
 * bounded and dropped; docs/http1.md lists what is refused. No I/O.
 *
 * @module
 */

import { FRAMING_HEADERS, parseHeaderLine, TOKEN } from "core/http1/messages.ts";

const LINE_BYTES_MAX = 4 * 1024;
const TRAILER_BYTES_MAX = 16 * 1024;
/** Limit per body: many one-byte chunks could otherwise carry any number of them. */
const EXTENSION_BYTES_MAX = 16 * 1024;
const NAME = TOKEN.source.slice(1, -1);
const QUOTED =
  '"(?:[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t\\x20-\\x7e\\x80-\\xff])*"';
/** No white space. Chunk sizes above 256 TiB are invalid. */
const SIZE = new RegExp(`^([0-9A-Fa-f]{1,12})(?:;${NAME}(?:=(?:${NAME}|${QUOTED}))?)*$`);
const CR = 0x0d;
const LF = 0x0a;

/** The decoder of one body. */
export interface ChunkDecoder {
  /** Returns the data in `bytes`, as views; throws `SyntaxError` on invalid framing. */
  take(bytes: Uint8Array<ArrayBuffer>): readonly Uint8Array<ArrayBuffer>[];
  isDone(): boolean;
  /** Bytes after the end of the body. */
  surplus(): number;
}

/** Creates a decoder for one body. */
export function createChunkDecoder(): ChunkDecoder {
  return new BodyDecoder();
}

class BodyDecoder implements ChunkDecoder {
  #state: "size" | "data" | "data-end" | "trailer" | "done" = "size";
  #line = "";
  /** Bytes of the current chunk that are still to come. */
  #left = 0;
  #trailerBytes = 0;
  #extensionBytes = 0;
  #surplus = 0;

  take(bytes: Uint8Array<ArrayBuffer>): readonly Uint8Array<ArrayBuffer>[] {
    const data: Uint8Array<ArrayBuffer>[] = [];
    let at = 0;
    while (at < bytes.length && this.#state !== "done") {
      if (this.#state !== "data") {
        at = this.#readLine(bytes, at);
        continue;
      }
      const end = Math.min(bytes.length, at + this.#left);
      data.push(bytes.subarray(at, end));
      this.#left -= end - at;
      at = end;
      if (this.#left === 0) this.#state = "data-end";
    }
    this.#surplus += bytes.length - at;
    return data;
  }

  isDone(): boolean {
    return this.#state === "done";
  }

  surplus(): number {
    return this.#surplus;
  }

  /** Consumes bytes up to the end of a line; returns the position after them. */
  #readLine(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length) {
      const byte = bytes[at++] ?? 0;
      if (this.#line.endsWith("\r")) {
        if (byte !== LF) throw new SyntaxError("a line does not end in CRLF");
        const text = this.#line.slice(0, -1);
        this.#line = "";
        this.#endLine(text);
        return at;
      }
      if (byte === LF || this.#line.length >= LINE_BYTES_MAX) {
        throw new SyntaxError("a line is malformed");
      }
      this.#line += String.fromCharCode(byte === CR ? CR : byte);
    }
    return at;
  }

  /** Parses one complete line. */
  #endLine(text: string): void {
    if (this.#state === "data-end") {
      if (text !== "") throw new SyntaxError("a chunk is longer than its stated size");
      this.#state = "size";
    } else if (this.#state === "size") this.#beginChunk(text);
    else if (text === "") this.#state = "done";
    else this.#checkTrailer(text);
  }

  #beginChunk(text: string): void {
    const size = SIZE.exec(text)?.[1];
    if (size === undefined) throw new SyntaxError("a chunk has no size");
    if ((this.#extensionBytes += text.length - size.length) > EXTENSION_BYTES_MAX) {
      throw new SyntaxError("the extensions are too long");
    }
    this.#left = parseInt(size, 16);
    this.#state = this.#left === 0 ? "trailer" : "data";
  }

  #checkTrailer(text: string): void {
    if ((this.#trailerBytes += text.length) > TRAILER_BYTES_MAX) {
      throw new SyntaxError("the trailers are too long");
    }
    const trailer = parseHeaderLine(text);
    if (trailer === undefined) throw new SyntaxError("a trailer is malformed");
    if (FRAMING_HEADERS.has(trailer[0])) throw new SyntaxError("a trailer frames the message");
  }
}
