/**
 * Tells everybody in this process that something happened. The log is the truth: a listener that
 * misses an item finds it there; only previews, presence and hosts exist nowhere else.
 *
 * @module
 */

import type { PreviewEvent } from "core/dial/event.ts";
import type { StoredEvent } from "gateway/transcript/event_log.ts";

/** What is told. */
export type HubItem =
  | { readonly kind: "event"; readonly event: StoredEvent }
  | { readonly kind: "preview"; readonly agent: string; readonly event: PreviewEvent }
  /** An agent came, went or changed its state. */
  | { readonly kind: "presence"; readonly agent: string }
  /** A host came or went, or one of its jobs began or ended. */
  | { readonly kind: "host"; readonly host: string };

/** Publishing and listening. */
export interface Hub {
  publish(items: readonly HubItem[]): void;
  /** Returns what ends the subscription. */
  subscribe(handler: (item: HubItem) => void): () => void;
}

/** Makes the hub of one gateway; handlers run at once and must not throw. */
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
