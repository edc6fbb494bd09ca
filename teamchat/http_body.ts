/**
 * Reads a body up to a bound. No policy.
 *
 * @module
 */

/** Returns the text of a body; undefined when it is longer than `bytesMax`, which ends the reading. */
export async function readBounded(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<string | undefined> {
  const whole = await readBytesBounded(body, bytesMax);
  if (whole === undefined) return undefined;
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(whole);
}

/** Returns the bytes of a body; undefined when there are more than `bytesMax`, which ends the reading. */
export async function readBytesBounded(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (body === null) return new Uint8Array();
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > bytesMax) {
      await reader.cancel().catch(() => {});
      return undefined;
    }
    chunks.push(value);
  }
  return joined(chunks, length);
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
