/**
 * The wire format of event streams. No I/O; documented in `docs/protocol.md`.
 *
 * @module
 */

import { formatCursor } from "gateway/cockpit/cursor.ts";
import type { StoredEvent } from "gateway/transcript/event_log.ts";

/** Formats one event; `data` is one line because JSON contains no raw line ends. */
export function formatSse(of: {
  readonly id?: string;
  readonly event: string;
  readonly data: unknown;
}): string {
  const id = of.id === undefined ? "" : `id: ${of.id}\n`;
  return `${id}event: ${of.event}\ndata: ${JSON.stringify(of.data)}\n\n`;
}

/** The JSON form of a stored event, used in streams and pages. */
export function showEvent(epoch: string, event: StoredEvent) {
  return {
    id: formatCursor(epoch, event.seq),
    agent: event.agent,
    turn_id: event.turnId ?? null,
    at: event.at,
    kind: event.kind,
    payload: event.payload,
  };
}
