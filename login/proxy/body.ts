/**
 * Bodies with a bound: read as text, or passed on chunk by chunk. Neither ever holds more than one
 * chunk past its bound.
 *
 * @module
 */

/** Reads a body as text; undefined as soon as it is longer than `bytesMax`. */
export async function readBounded(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<string | undefined> {
  if (body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Why a body ended early. */
export type BodyFault = "too-large" | "broken";

/**
 * Bounds a body on its way. When it is too large, or its sender goes away, `onFault` is told first,
 * and then the stream fails.
 */
export function boundBody(
  body: ReadableStream<Uint8Array>,
  bytesMax: number,
  onFault: (why: BodyFault) => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let bytes = 0;
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      let fault: BodyFault = "broken";
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        bytes += value.byteLength;
        if (bytes <= bytesMax) return controller.enqueue(value);
        fault = "too-large";
      } catch {
        // Whoever sent it is gone.
      }
      onFault(fault);
      controller.error(new RangeError(`the body is ${fault}`));
      await reader.cancel().catch(() => {});
    },
    // Whoever ends the request learns nothing new from a body that has failed already.
    cancel: (reason) => reader.cancel(reason).catch(() => {}),
  }, { highWaterMark: 0 });
}
