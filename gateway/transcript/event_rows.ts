/**
 * Rows of the table `events`: selects those of one page and parses them into events. Pure.
 *
 * @module
 */

import type { StoredEvent } from "gateway/transcript/event_log.ts";
import type { Row } from "gateway/transcript/schema.ts";

/** Returns the first rows that fit on one page; at least one, whatever its size. */
export function withinPage(rows: readonly Row[], bytesMax: number): readonly Row[] {
  let bytes = 0;
  const kept: Row[] = [];
  for (const row of rows) {
    bytes += Number(row.bytes);
    if (kept.length > 0 && bytes > bytesMax) break;
    kept.push(row);
  }
  return kept;
}

/** Parses a row of `events`. */
export function readEvent(row: Row): StoredEvent {
  return {
    seq: Number(row.seq),
    agent: String(row.agent),
    at: Number(row.at),
    turnId: row.turn_id === null ? undefined : String(row.turn_id),
    kind: String(row.kind),
    payload: JSON.parse(String(row.payload)) as Record<string, unknown>,
  };
}
