/**
 * Opens a stream of server-sent events for one client, within the viewer's limit of streams.
 * `gateway/cockpit/stream_client.ts` decides what is sent and when.
 *
 * @module
 */

import { StreamClient, type StreamDeps, type StreamWish } from "gateway/cockpit/stream_client.ts";
import { STREAM_LIMITS } from "gateway/limits.ts";

/** Opens the stream; undefined when the viewer has too many open. */
export function openEventStream(
  wish: StreamWish,
  deps: StreamDeps,
): ReadableStream<Uint8Array> | undefined {
  const client = new StreamClient(wish, deps);
  const remove = deps.streams.add(wish.viewer, (closing) => client.end(closing));
  if (remove === undefined) return undefined;
  return new ReadableStream<Uint8Array>({
    start: (controller) => client.start(controller, remove),
    pull: () => client.pump(),
    cancel: () => client.stop(),
  }, {
    highWaterMark: STREAM_LIMITS.clientBufferBytesMax,
    size: (chunk) => chunk.byteLength,
  });
}
