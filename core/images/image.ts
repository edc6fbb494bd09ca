/**
 * Reads the type and the size of an image from its bytes: PNG, JPEG, GIF and WebP. A name or a
 * declared type is never trusted. Pixels are not decoded. Pure.
 *
 * @module
 */

import { gifSize, jpegSize, type PixelSize, pngSize, webpSize } from "core/images/image_headers.ts";
import { IMAGE_LIMITS } from "core/limits/image.ts";
import { err, ok, type Result } from "core/result.ts";

/** Media types of images that every model with vision accepts. */
export const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;
/** One of `IMAGE_TYPES`. */
export type ImageType = typeof IMAGE_TYPES[number];

/** What the bytes of an image say. */
export interface ImageInfo {
  readonly type: ImageType;
  readonly width: number;
  readonly height: number;
  readonly bytes: number;
}

/** Why bytes are not a usable image. `state` is a clause such as "it is cut off or damaged". */
export interface ImageFault {
  readonly kind: "other" | "broken" | "too-large";
  readonly state: string;
}

interface Format {
  readonly type: ImageType;
  readonly starts: readonly string[];
  /** Characters from byte 8 on. */
  readonly then?: string;
  /** Returns undefined for an image that is cut off or damaged. */
  readonly size: (bytes: Uint8Array) => PixelSize | undefined;
}

const FORMATS: readonly Format[] = [
  { type: "image/png", starts: ["\x89PNG\r\n\x1a\n"], size: pngSize },
  { type: "image/jpeg", starts: ["\xff\xd8\xff"], size: jpegSize },
  { type: "image/gif", starts: ["GIF87a", "GIF89a"], size: gifSize },
  { type: "image/webp", starts: ["RIFF"], then: "WEBP", size: webpSize },
];

/** Reads an image; the fault says why the bytes are not a usable one. */
export function readImage(bytes: Uint8Array): Result<ImageInfo, ImageFault> {
  const format = FORMATS.find(({ starts, then = "" }) =>
    starts.some((mark) => latin(bytes, 0, mark.length) === mark) &&
    latin(bytes, 8, then.length) === then
  );
  if (format === undefined) {
    return err({ kind: "other", state: "its content is not a PNG, JPEG, GIF or WebP image" });
  }
  const { bytesMax, sidePixelsMax } = IMAGE_LIMITS;
  if (bytes.length > bytesMax) {
    return tooLarge(`it has ${bytes.length} bytes, must have at most ${bytesMax}`);
  }
  const size = format.size(bytes);
  if (size === undefined || size.width === 0 || size.height === 0) {
    return err({ kind: "broken", state: "its content is cut off or damaged" });
  }
  const { width, height } = size;
  if (Math.max(width, height) > sidePixelsMax) {
    return tooLarge(`it has ${width}×${height} pixels, must have at most ${sidePixelsMax} a side`);
  }
  return ok({ type: format.type, width, height, bytes: bytes.length });
}

/** Reads an image in base64; refuses a longer text than a usable image has. */
export function readBase64Image(
  text: string,
): Result<ImageInfo & { readonly base64: string }, ImageFault> {
  if (text.length > Math.ceil(IMAGE_LIMITS.bytesMax / 3) * 4 + 4) {
    return tooLarge(`it must have at most ${IMAGE_LIMITS.bytesMax} bytes`);
  }
  let data: Uint8Array;
  try {
    data = Uint8Array.fromBase64(text);
  } catch {
    return err({ kind: "broken", state: "its content is not base64" });
  }
  const info = readImage(data);
  return info.ok ? ok({ ...info.value, base64: text }) : info;
}

/** Whether a file claims, by its name or declared type, to be an image of these types. */
export function claimsImage(name: string, declared = ""): boolean {
  return /\.(png|jpe?g|gif|webp)$/i.test(name) ||
    (IMAGE_TYPES as readonly string[]).includes(declared.toLowerCase());
}

/** Describes an image for people: `640×480 PNG, 12 KB`. */
export function imageWords({ type, width, height, bytes }: ImageInfo): string {
  return `${width}×${height} ${formatName(type)}, ${sizeWords(bytes)}`;
}

/** Describes a size for people: `12 KB`. */
export function sizeWords(bytes: number): string {
  return bytes < 1_000
    ? `${bytes} B`
    : bytes < 999_500
    ? `${Math.round(bytes / 1_000)} KB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Returns a name for an image without one, such as `image.png`. */
export function imageName(type: ImageType): string {
  return `image.${type === "image/jpeg" ? "jpg" : formatName(type).toLowerCase()}`;
}

function formatName(type: ImageType): string {
  return type === "image/webp" ? "WebP" : type.slice("image/".length).toUpperCase();
}

function tooLarge(state: string): Result<never, ImageFault> {
  return err({ kind: "too-large", state });
}

function latin(bytes: Uint8Array, from: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(from, from + length));
}
