/**
 * Publishes events to subscribers in this process. Events are in the log as well, so a subscriber
 * that misses one reads it there. Previews, presence and host changes are not stored.
 *
 * @module
 */

import type { PreviewEvent } from "core/dial/event.ts";
import type { StoredEvent } from "gateway/transcript/event_log.ts";

/** A published item. */
export type HubItem =
  | { readonly kind: "event"; readonly event: StoredEvent }
  | { readonly kind: "preview"; readonly agent: string; readonly event: PreviewEvent }
  /** An agent connected, disconnected or changed its state. */
  | { readonly kind: "presence"; readonly agent: string }
  /** An agent is no longer in the ledger. */
  | { readonly kind: "removed"; readonly agent: string }
  /** A host connected or disconnected, or one of its jobs started, progressed or ended. */
  | { readonly kind: "host"; readonly host: string };

/** Publishing and listening. */
export interface Hub {
  publish(items: readonly HubItem[]): void;
  /** Subscribes; the returned function unsubscribes. */
  subscribe(handler: (item: HubItem) => void): () => void;
}

/** Creates the hub of one gateway. Handlers run synchronously and must not throw. */
export function createHub(): Hub {
  const handlers = new Set<(item: HubItem) => void>();
  return {
    publish: (items) => {
      for (const item of items) {
        for (const handler of [...handlers]) handler(item);
      }
    },
    subscribe: (handler) => {
      handlers.add(handler);
      return () => {
        handlers.delete(handler);
      };
    },
  };
}
