/**
 * Successful responses of the cockpit. No decisions here.
 *
 * @module
 */

/** Media type of an event stream. */
export const STREAM_TYPE = "text/event-stream";

/** Formats JSON. */
export function json(value: unknown, status = 200): Response {
  return new Response(`${JSON.stringify(value)}\n`, {
    status,
    headers: { "content-type": "application/json" },
  });
}

/** Formats plain text. */
export function plain(text: string, type = "text/plain; charset=utf-8"): Response {
  return new Response(text, { headers: { "content-type": type } });
}

/** Wraps an event stream; proxies must neither buffer nor change it. */
export function stream(body: ReadableStream<Uint8Array>): Response {
  return new Response(body, {
    headers: {
      "content-type": STREAM_TYPE,
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
    },
  });
}
