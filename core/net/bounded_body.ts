/**
 * Reads a body of at most so many bytes. A longer one is refused at the first byte too many, and
 * what is left of it is cancelled. Faults of the connection are thrown, as by any stream.
 *
 * @module
 */

import { err, ok, type Result } from "core/result.ts";

/** A body, as `Request` and `Response` have it. */
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
    // Leaving the loop cancels the rest.
    if (bytes > bytesMax) return err("too-large");
    chunks.push(chunk as Uint8Array<ArrayBuffer>);
  }
  return ok(await new Blob(chunks).bytes());
}

/** Returns the text of a body; a strict `decoder` throws at what is not UTF-8. */
export async function readText(
  body: Body,
  bytesMax: number,
  decoder: TextDecoder = new TextDecoder(),
): Promise<Result<string, "too-large">> {
  const bytes = await readBytes(body, bytesMax);
  return bytes.ok ? ok(decoder.decode(bytes.value)) : bytes;
}

/** Returns what the JSON of a body says. */
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
