/**
 * Bounds an answer that a library reads: its body as a whole, and each event of an event stream,
 * which may go on for long. The body fails at the first byte too many.
 *
 * @module
 */

/** Returns the same answer with a bounded body. */
export function boundAnswer(response: Response, bytesMax: number): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const isEvents = (headers.get("content-type") ?? "").startsWith("text/event-stream");
  const bounded = body.pipeThrough(boundBody(isEvents, bytesMax));
  return new Response(bounded, { status, statusText, headers });
}

/** A blank line ends an event. */
function boundBody(isEvents: boolean, bytesMax: number): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  let last = 0;
  return new TransformStream({
    transform(chunk, controller) {
      for (const byte of isEvents ? chunk : []) {
        if (byte === 0x0d) continue;
        size = byte === 0x0a && last === 0x0a ? 0 : size + 1;
        if (size > bytesMax) break;
        last = byte;
      }
      if (!isEvents) size += chunk.length;
      if (size > bytesMax) throw new Error(`its answer has more than ${bytesMax} bytes`);
      controller.enqueue(chunk);
    },
  });
}
