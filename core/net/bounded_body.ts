/**
 * Reads a body up to a byte limit. A longer body gives `too-large` at the first chunk above the
 * limit, and the rest is cancelled. Connection failures are thrown, as by any stream.
 *
 * @module
 */

import { err, ok, type Result } from "core/result.ts";

/** A body as in `Request` and `Response`. */
export type Body = ReadableStream<Uint8Array> | null;

/** Returns the bytes of a body. */
export async function readBytes(
  body: Body,
  bytesMax: number,
): Promise<Result<Uint8Array<ArrayBuffer>, "too-large">> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    // Leaving the loop cancels the rest of the stream.
    if (bytes > bytesMax) return err("too-large");
    chunks.push(chunk as Uint8Array<ArrayBuffer>);
  }
  return ok(await new Blob(chunks).bytes());
}

/** Returns the text of a body; a strict `decoder` throws on invalid UTF-8. */
export async function readText(
  body: Body,
  bytesMax: number,
  decoder: TextDecoder = new TextDecoder(),
): Promise<Result<string, "too-large">> {
  const bytes = await readBytes(body, bytesMax);
  return bytes.ok ? ok(decoder.decode(bytes.value)) : bytes;
}

/** Returns the parsed JSON of a body. */
export async function readJson(
  body: Body,
  bytesMax: number,
): Promise<Result<unknown, "too-large" | "malformed">> {
  const text = await readText(body, bytesMax);
  if (!text.ok) return text;
  try {
    return ok(JSON.parse(text.value));
  } catch {
    return err("malformed");
  }
}
