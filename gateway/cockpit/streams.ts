/**
 * The registry of open event streams. It counts them per viewer. It ends the streams of viewers
 * whose rights changed, and all of them when the gateway stops, so that no page waits on a dead
 * connection.
 *
 * @module
 */

import { isUnchanged, type Owner, type Roster } from "core/access/viewer.ts";
import { STREAM_LIMITS } from "gateway/limits.ts";
import type { Metrics } from "gateway/metrics.ts";

/** The last message of a stream. With `now`, the page opens the next stream at once. */
export interface Closing {
  readonly reason: string;
  readonly retry?: "now";
}

/** Open streams. */
export interface StreamSet {
  /**
   * Adds a stream and returns a function that removes it; undefined when the viewer has too many.
   */
  add(viewer: Owner, end: (closing: Closing) => void): (() => void) | undefined;
  /** Ends the streams of viewers who lost their agent, or became or ceased to be admins. */
  endChanged(roster: Roster): void;
  endAll(): void;
}

/** Creates an empty registry. */
export function createStreamSet(metrics: Metrics): StreamSet {
  const open = new Set<{
    readonly viewer: Owner;
    readonly end: (closing: Closing) => void;
  }>();
  metrics.gauge("streams_open", () => open.size);
  return {
    add: (viewer, end) => {
      const own = [...open].filter((stream) => stream.viewer.email === viewer.email).length;
      if (own >= STREAM_LIMITS.streamsPerViewerMax) return undefined;
      const stream = { viewer, end };
      open.add(stream);
      metrics.count("streams", { what: "opened" });
      return () => {
        if (open.delete(stream)) metrics.count("streams", { what: "closed" });
      };
    },
    endChanged: (roster) => {
      for (const { viewer, end } of [...open]) {
        if (!isUnchanged(viewer, roster)) {
          end({ reason: "the viewer's rights changed", retry: "now" });
        }
      }
    },
    endAll: () => {
      for (const { end } of [...open]) end({ reason: "the gateway stops" });
    },
  };
}
