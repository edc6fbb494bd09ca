/**
 * Bounded bodies: read as a form, or streamed. Neither buffers more than one chunk past its limit.
 *
 * @module
 */

import { LOGIN_LIMITS } from "core/limits/login.ts";
import { readText } from "core/net/bounded_body.ts";
import { err, type Result } from "core/result.ts";

/** Why a body failed: too large, invalid framing, or its sender disconnected. */
export type BodyFault = "too-large" | "malformed" | "broken";

/** The listener throws `SyntaxError` for invalid framing. */
function faultOf(thrown: unknown): BodyFault {
  return thrown instanceof SyntaxError ? "malformed" : "broken";
}

/** Reads the body of a form. */
export async function readForm(
  body: ReadableStream<Uint8Array> | null,
): Promise<Result<string, BodyFault>> {
  try {
    return await readText(body, LOGIN_LIMITS.formBytesMax);
  } catch (thrown) {
    return err(faultOf(thrown));
  }
}

/**
 * Limits a streamed body. If it is too large, or its sender disconnects, calls `onFault` and then
 * fails the stream.
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
    // Ignore errors: the body has failed already.
    cancel: (reason) => reader.cancel(reason).catch(() => {}),
  }, { highWaterMark: 0 });
}
