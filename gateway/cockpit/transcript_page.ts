/**
 * Pages of one agent's transcript as JSON: a number of events, a number of turns, or part of one
 * turn. No access checks.
 *
 * @module
 */

import * as z from "zod";
import { conversationName } from "core/dial/conversation.ts";
import { defined } from "core/defined.ts";
import { STREAM_LIMITS } from "gateway/limits.ts";
import { formatCursor, parseCursor } from "gateway/cockpit/cursor.ts";
import { json } from "gateway/cockpit/reply.ts";
import { showEvent } from "gateway/cockpit/sse.ts";
import type { EventLog, StoredEvent, TurnCut } from "gateway/transcript/event_log.ts";

const event = z.object({
  id: z.string(),
  agent: z.string(),
  turn_id: z.string().nullable(),
  at: z.number(),
  kind: z.string(),
  payload: z.record(z.string(), z.unknown()),
});
const cut = z.object({
  turn_id: z.string(),
  /** Pass as `before`, together with `turn`, to read the newest omitted events. */
  before: z.string(),
  /**
   * Number of omitted events. A call is counted when its result is stored. `failed` counts results
   * with the status failed or denied.
   */
  counts: z.object({
    events: z.number(),
    calls: z.number(),
    messages: z.number(),
    notices: z.number(),
    failed: z.number(),
  }),
});

/** Shape of a page, published with the routes. */
export const transcriptPage = z.object({
  events: z.array(event),
  /** Pass as `before` to read the older page; null at the beginning. */
  before: z.string().nullable(),
  /** Open a stream after this id to miss no later event. */
  cursor: z.string(),
  /**
   * In a page by turns: the turns of which this page has only the question and the newest events.
   */
  cuts: z.array(cut).optional(),
});

/** Query parameters of a page. */
export const transcriptQuery = {
  limit: z.coerce.number().int().min(1).max(STREAM_LIMITS.pageEventsMax).default(
    STREAM_LIMITS.pageEventsDefault,
  ),
  /** Selects a page by turns, with this number of turns. */
  turns: z.coerce.number().int().min(1).max(STREAM_LIMITS.pageTurnsMax).optional(),
  /** Selects the turns of one conversation; a stream contains all of them. */
  conversation: conversationName.optional(),
  /** Selects one turn. */
  turn: z.string().min(1).max(64).optional(),
};

/** A parsed request for a page. */
export interface PageWish {
  readonly agent: string;
  readonly before?: string | undefined;
  readonly limit: number;
  readonly turns?: number | undefined;
  readonly turn?: string | undefined;
  readonly conversation?: string | undefined;
}

/** Reads and formats the page. */
export async function readPage(log: EventLog, wish: PageWish): Promise<Response> {
  // Read the head first: an event stored meanwhile is on the page or after the cursor, or both.
  const cursor = formatCursor(log.epoch, await log.head());
  const { events, before, cuts } = await find(log, wish);
  return json({
    events: events.map((one) => showEvent(log.epoch, one)),
    before: before === undefined ? null : formatCursor(log.epoch, before),
    cursor,
    ...defined({ cuts: cuts?.map((one) => showCut(log.epoch, one)) }),
  });
}

async function find(log: EventLog, { agent, limit, turns, turn, ...wish }: PageWish): Promise<{
  readonly events: readonly StoredEvent[];
  readonly before: number | undefined;
  readonly cuts?: readonly TurnCut[];
}> {
  const before = wish.before === undefined ? undefined : parseCursor(wish.before)?.seq;
  if (turn !== undefined) return await log.turnPart({ agent, turnId: turn, before, limit });
  const { conversation } = wish;
  if (turns !== undefined) {
    return await log.turnPage({ agent, before, turns, limit, conversation });
  }
  const { events, hasMore } = await log.page({ agent, before, limit, conversation });
  return { events, before: hasMore ? events[0]?.seq : undefined };
}

function showCut(epoch: string, { turnId, before, counts }: TurnCut) {
  return { turn_id: turnId, before: formatCursor(epoch, before), counts };
}
