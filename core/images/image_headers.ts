/**
 * Width and height of images, read from their structure. Each function also checks that the image
 * is whole, because a model endpoint refuses a request with a damaged one. Data after the end of an
 * image is ignored. Pure.
 *
 * @module
 */

/** Width and height in pixels. */
export interface PixelSize {
  readonly width: number;
  readonly height: number;
}

/** Reads a PNG: its chunks, up to the last one. */
export function pngSize(bytes: Uint8Array): PixelSize | undefined {
  const view = viewOf(bytes);
  let size: PixelSize | undefined;
  for (let at = 8; at + 12 <= bytes.length;) {
    const length = view.getUint32(at);
    const kind = latin(bytes, at + 4, 4);
    if (at + 12 + length > bytes.length) return undefined;
    if (size === undefined) {
      if (kind !== "IHDR" || length !== 13) return undefined;
      size = { width: view.getUint32(at + 8), height: view.getUint32(at + 12) };
    }
    if (kind === "IEND") return size;
    at += 12 + length;
  }
  return undefined;
}

/** Whether a JPEG marker begins a frame; the other ones in this range define tables. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

/** Reads a JPEG: its segments up to the frame, and that the end marker exists. */
export function jpegSize(bytes: Uint8Array): PixelSize | undefined {
  const view = viewOf(bytes);
  let size: PixelSize | undefined;
  for (let at = 2; at + 4 <= bytes.length;) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) {
      at++;
      continue;
    }
    const length = view.getUint16(at + 2);
    if (length < 2 || at + 2 + length > bytes.length) return undefined;
    if (isFrame(marker) && length >= 8) {
      size = { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    }
    // After the start of the scan the data has no lengths.
    if (marker === 0xda) return hasJpegEnd(bytes, at + 2 + length) ? size : undefined;
    at += 2 + length;
  }
  return undefined;
}

function hasJpegEnd(bytes: Uint8Array, from: number): boolean {
  for (let at = bytes.length - 2; at >= from; at--) {
    if (bytes[at] === 0xff && bytes[at + 1] === 0xd9) return true;
  }
  return false;
}

/** Reads a GIF: its blocks, up to the trailer. */
export function gifSize(bytes: Uint8Array): PixelSize | undefined {
  if (bytes.length < 13) return undefined;
  const view = viewOf(bytes);
  let at = 13 + tableBytes(bytes[10]);
  let hasFrame = false;
  while (at < bytes.length) {
    const kind = bytes[at];
    if (kind === 0x3b) {
      return hasFrame
        ? { width: view.getUint16(6, true), height: view.getUint16(8, true) }
        : undefined;
    }
    if (kind === 0x21) at = afterBlocks(bytes, at + 2);
    else if (kind === 0x2c) {
      hasFrame = true;
      at = afterBlocks(bytes, at + 11 + tableBytes(bytes[at + 9]));
    } else return undefined;
  }
  return undefined;
}

/** Bytes of the colour table that the flags announce. */
function tableBytes(flags = 0): number {
  return (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 0x07) + 1);
}

function afterBlocks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== 0) at += 1 + (bytes[at] ?? 0);
  return at + 1;
}

/** Reads a WebP: its first chunk, and that the file has the stated size. */
export function webpSize(bytes: Uint8Array): PixelSize | undefined {
  if (bytes.length < 30) return undefined;
  const view = viewOf(bytes);
  const isWhole = view.getUint32(4, true) + 8 <= bytes.length;
  if (!isWhole) return undefined;
  const bits14 = (at: number) => view.getUint16(at, true) & 0x3fff;
  const bits24 = (at: number) => view.getUint16(at, true) | ((bytes[at + 2] ?? 0) << 16);
  switch (latin(bytes, 12, 4)) {
    case "VP8 ":
      return latin(bytes, 23, 3) === "\x9d\x01\x2a"
        ? { width: bits14(26), height: bits14(28) }
        : undefined;
    case "VP8L": {
      if (bytes[20] !== 0x2f) return undefined;
      const bits = view.getUint32(21, true);
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: bits24(24) + 1, height: bits24(27) + 1 };
    default:
      return undefined;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function latin(bytes: Uint8Array, from: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(from, from + length));
}
