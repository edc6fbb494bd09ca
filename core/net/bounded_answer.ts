/**
 * Bounds a response that a library reads. A plain body is bounded as a whole. An event stream may
 * run for long, so each of its events is bounded. The body fails at the first byte above the bound.
 *
 * @module
 */

/** Returns the same response with a bounded body. */
export function boundAnswer(response: Response, bytesMax: number): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const isEvents = (headers.get("content-type") ?? "").startsWith("text/event-stream");
  const bounded = body.pipeThrough(boundBody(isEvents, bytesMax));
  return new Response(bounded, { status, statusText, headers });
}

/** For an event stream, the count restarts at each blank line, which ends an event. */
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
