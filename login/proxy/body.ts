/**
 * Bodies with a bound: read as text, or passed on chunk by chunk. Neither ever holds more than one
 * chunk past its bound.
 *
 * @module
 */

import { err, ok, type Result } from "core/result.ts";

/** Why a body ended early: past its bound, not framed as it says, or its sender is gone. */
export type BodyFault = "too-large" | "malformed" | "broken";

/** What a body that failed was: the listener throws `SyntaxError` for what is no framing. */
function faultOf(thrown: unknown): BodyFault {
  return thrown instanceof SyntaxError ? "malformed" : "broken";
}

/** Reads a body of at most `bytesMax` bytes as text. */
export async function readBounded(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<Result<string, BodyFault>> {
  if (body === null) return ok("");
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      if (bytes > bytesMax) return err("too-large");
      text += decoder.decode(chunk, { stream: true });
    }
  } catch (thrown) {
    return err(faultOf(thrown));
  }
  return ok(text + decoder.decode());
}

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
      let fault: BodyFault;
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        bytes += value.byteLength;
        if (bytes <= bytesMax) return controller.enqueue(value);
        fault = "too-large";
      } catch (thrown) {
        fault = faultOf(thrown);
      }
      onFault(fault);
      controller.error(new RangeError(`the body is ${fault}`));
      await reader.cancel().catch(() => {});
    },
    // Whoever ends the request learns nothing new from a body that has failed already.
    cancel: (reason) => reader.cancel(reason).catch(() => {}),
  }, { highWaterMark: 0 });
}
