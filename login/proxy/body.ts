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

/** A body on its way to the cockpit. */
export interface BoundedBody {
  readonly stream: ReadableStream<Uint8Array>;
  isTooLarge(): boolean;
}

/**
 * Bounds a body on its way. When its sender goes away the stream does not fail: `onFault` is told and
 * ends the request. A failed stream rejects when `fetch` cancels it, nobody handles that, and the
 * program would end.
 */
export function boundBody(
  body: ReadableStream<Uint8Array>,
  bytesMax: number,
  onFault: () => void,
): BoundedBody {
  const reader = body.getReader();
  let bytes = 0;
  let isTooLarge = false;
  const stream = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        bytes += value.byteLength;
        if (bytes <= bytesMax) return controller.enqueue(value);
        isTooLarge = true;
        controller.error(new RangeError("the body is too large"));
        await reader.cancel();
      } catch {
        // Whoever sent it is gone.
      }
      onFault();
    },
    // Whoever ends the request learns nothing new from a body that has failed already.
    cancel: (reason) => reader.cancel(reason).catch(() => {}),
  }, { highWaterMark: 0 });
  return { stream, isTooLarge: () => isTooLarge };
}
