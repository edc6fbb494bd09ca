/**
 * Small images for tests: a PNG of any size, and one image of each other type.
 *
 * @module
 */

import { crc32 } from "node:zlib";

/** Images by name; the names are those of their formats. */
export const SAMPLES = {
  /** 24 × 16. */
  jpeg: bytesOf(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABALDA4MChAODQ4SERATGCgaGBYWGDEjJR0oOjM9PDkzODdASFxO" +
      "QERXRTc4UG1RV19iZ2hnPk1xeXBkeFxlZ2P/2wBDARESEhgVGC8aGi9jQjhCY2NjY2NjY2NjY2NjY2NjY2Nj" +
      "Y2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2NjY2P/wAARCAAQABgDASIAAhEBAxEB/8QAFQABAQAAAAAA" +
      "AAAAAAAAAAAAAAb/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFgEBAQEAAAAAAAAAAAAAAAAAAAQG/8QAFBEB" +
      "AAAAAAAAAAAAAAAAAAAAAP/aAAwDAQACEQMRAD8AjQG8SgAP/9k=",
  ),
  /** 1 × 1, as those below. */
  gif: bytesOf("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"),
  lossyWebp: bytesOf("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"),
  losslessWebp: bytesOf("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="),
  alphaWebp: bytesOf(
    "UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAwAAAARBxAR/Q9ERP8DAABWUDggGAAAABQBAJ0B" +
      "KgEAAQAAAP4AAA3AAP7mtQAAAA==",
  ),
  svg: new TextEncoder().encode(
    '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
  ),
} as const;

/** Returns a PNG of one colour that every viewer can draw. */
export async function pngOf(
  width: number,
  height: number,
  [red, green, blue]: readonly [number, number, number] = [200, 40, 40],
): Promise<Uint8Array<ArrayBuffer>> {
  const row = [0, ...Array.from({ length: width }, () => [red, green, blue]).flat()];
  const rows = new Uint8Array(row.length * height);
  for (let y = 0; y < height; y++) rows.set(row, y * row.length);
  const packed = new Blob([rows]).stream().pipeThrough(new CompressionStream("deflate"));
  return joined([
    PNG_START,
    headerChunk(width, height),
    chunk("IDAT", new Uint8Array(await new Response(packed).arrayBuffer())),
    chunk("IEND", new Uint8Array()),
  ]);
}

/** Returns a PNG whose header states a size and whose only data is of `bytes` bytes. */
export function hollowPng(width: number, height: number, bytes = 0): Uint8Array<ArrayBuffer> {
  const data = chunk("IDAT", new Uint8Array(bytes));
  return joined([PNG_START, headerChunk(width, height), data, chunk("IEND", new Uint8Array())]);
}

const PNG_START = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

function headerChunk(width: number, height: number): Uint8Array {
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  header.set([8, 2], 8);
  return chunk("IHDR", header);
}

function chunk(kind: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(12 + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(kind), 4);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, crc32(bytes.subarray(4, 8 + data.length)));
  return bytes;
}

/** Joins pieces of bytes. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromBase64(base64);
}
