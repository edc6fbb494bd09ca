/**
 * The registry of open event streams. It counts them per viewer and ends all of them when the
 * gateway stops, so that no page waits on a dead connection.
 *
 * @module
 */

import { STREAM_LIMITS } from "gateway/limits.ts";
import type { Metrics } from "gateway/metrics.ts";

/** Open streams. */
export interface StreamSet {
  /**
   * Adds a stream and returns a function that removes it; undefined when the viewer has too many.
   */
  add(viewer: string, end: () => void): (() => void) | undefined;
  endAll(): void;
}

/** Creates an empty registry. */
export function createStreamSet(metrics: Metrics): StreamSet {
  const open = new Set<{ readonly viewer: string; readonly end: () => void }>();
  metrics.gauge("streams_open", () => open.size);
  return {
    add: (viewer, end) => {
      const own = [...open].filter((stream) => stream.viewer === viewer).length;
      if (own >= STREAM_LIMITS.streamsPerViewerMax) return undefined;
      const stream = { viewer, end };
      open.add(stream);
      metrics.count("streams", { what: "opened" });
      return () => {
        if (open.delete(stream)) metrics.count("streams", { what: "closed" });
      };
    },
    endAll: () => {
      for (const { end } of [...open]) end();
    },
  };
}
