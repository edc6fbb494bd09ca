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
  let state: "size" | "data" | "data-end" | "trailer" | "done" = "size";
  let line = "";
  let left = 0;
  let trailerBytes = 0;
  let extensionBytes = 0;
  let surplus = 0;

  /** Parses one complete line. */
  const endLine = () => {
    const text = line;
    line = "";
    if (state === "data-end") {
      if (text !== "") throw new SyntaxError("a chunk is longer than its stated size");
      state = "size";
    } else if (state === "size") {
      const size = SIZE.exec(text)?.[1];
      if (size === undefined) throw new SyntaxError("a chunk has no size");
      if ((extensionBytes += text.length - size.length) > EXTENSION_BYTES_MAX) {
        throw new SyntaxError("the extensions are too long");
      }
      left = parseInt(size, 16);
      state = left === 0 ? "trailer" : "data";
    } else if (text === "") state = "done";
    else checkTrailer(text);
  };
  const checkTrailer = (text: string) => {
    if ((trailerBytes += text.length) > TRAILER_BYTES_MAX) {
      throw new SyntaxError("the trailers are too long");
    }
    const trailer = parseHeaderLine(text);
    if (trailer === undefined) throw new SyntaxError("a trailer is malformed");
    if (FRAMING_HEADERS.has(trailer[0])) throw new SyntaxError("a trailer frames the message");
  };
  /** Consumes bytes up to the end of a line; returns the position after them. */
  const readLine = (bytes: Uint8Array, from: number): number => {
    let at = from;
    while (at < bytes.length) {
      const byte = bytes[at++] ?? 0;
      if (line.endsWith("\r")) {
        if (byte !== LF) throw new SyntaxError("a line does not end in CRLF");
        line = line.slice(0, -1);
        endLine();
        return at;
      }
      if (byte === LF || line.length >= LINE_BYTES_MAX) {
        throw new SyntaxError("a line is malformed");
      }
      line += String.fromCharCode(byte === CR ? CR : byte);
    }
    return at;
  };
  return {
    take: (bytes) => {
      const data: Uint8Array<ArrayBuffer>[] = [];
      let at = 0;
      while (at < bytes.length && state !== "done") {
        if (state !== "data") {
          at = readLine(bytes, at);
          continue;
        }
        const end = Math.min(bytes.length, at + left);
        data.push(bytes.subarray(at, end));
        left -= end - at;
        at = end;
        if (left === 0) state = "data-end";
      }
      surplus += bytes.length - at;
      return data;
    },
    isDone: () => state === "done",
    surplus: () => surplus,
  };
}
