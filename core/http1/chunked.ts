/**
 * Takes the chunked coding off a body, piece by piece as it arrives (RFC 9112, 7.1). Extensions and
 * trailers are dropped; line lengths, extensions and trailers are bounded. No I/O.
 *
 * @module
 */

const LINE_BYTES_MAX = 4 * 1024;
const TRAILER_BYTES_MAX = 16 * 1024;
/** Of one body: chunks of a byte could carry any number of them past the bound of a body. */
const EXTENSION_BYTES_MAX = 16 * 1024;
/** A chunk of 64 TiB is no chunk. */
const SIZE = /^([0-9A-Fa-f]{1,12})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/;
const CR = 0x0d;
const LF = 0x0a;

/** The decoder of one body. */
export interface ChunkDecoder {
  /** Returns the data in `bytes`, as views of it; throws `SyntaxError` when it is not chunked. */
  take(bytes: Uint8Array<ArrayBuffer>): readonly Uint8Array<ArrayBuffer>[];
  isDone(): boolean;
  /** Bytes that came after the end. */
  surplus(): number;
}

/** Creates a decoder at the start of a body. */
export function createChunkDecoder(): ChunkDecoder {
  let state: "size" | "data" | "data-end" | "trailer" | "done" = "size";
  let line = "";
  let left = 0;
  let trailerBytes = 0;
  let extensionBytes = 0;
  let surplus = 0;

  /** Acts on one whole line. */
  const endLine = () => {
    const text = line;
    line = "";
    if (state === "data-end") {
      if (text !== "") throw new SyntaxError("a chunk is longer than it says");
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
    else if ((trailerBytes += text.length) > TRAILER_BYTES_MAX) {
      throw new SyntaxError("the trailers are too long");
    }
  };
  /** Takes bytes up to the end of a line; returns where it stopped. */
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
