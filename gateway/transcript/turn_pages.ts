/**
 * Pages of a transcript by turns. A turn that is longer than a page is truncated: its question and
 * its newest events are read, and the rest is counted. A request reads at most one page, however
 * long the turn or the history is.
 *
 * @module
 */

import { namedConversation } from "core/dial/conversation.ts";
import type { Database } from "core/ports/databases.ts";
import { STREAM_LIMITS } from "gateway/limits.ts";
import type {
  EventCounts,
  EventLog,
  StoredEvent,
  TurnCut,
  TurnPage,
} from "gateway/transcript/event_log.ts";
import { readEvent, withinPage } from "gateway/transcript/event_rows.ts";
import type { Row } from "gateway/transcript/schema.ts";
import { countsWithout, OUTSIDE_TURNS } from "gateway/transcript/turn_counts.ts";

const NOTHING: TurnPage = { events: [], cuts: [], before: undefined };

/** Opens the pages of a prepared database. */
export function openTurnPages(db: Database): Pick<EventLog, "turnPage" | "turnPart"> {
  const pages = new TurnPages(db);
  return {
    turnPage: (query) => Promise.resolve(pages.page(query)),
    turnPart: (query) => Promise.resolve(pages.part(query)),
  };
}

/** Drops results at the beginning whose calls are not on the page: they cannot be rendered. */
function withoutOrphans(events: readonly StoredEvent[]): readonly StoredEvent[] {
  const first = events.findIndex(({ kind }) => kind !== "tool_result");
  return first <= 0 ? events : events.slice(first);
}

/** The part of one turn that is on a page. */
interface Part {
  /** Ascending. The question comes first, even when the events after it are omitted. */
  readonly events: readonly StoredEvent[];
  readonly cut: TurnCut | undefined;
  readonly bytes: number;
}

/** A turn or an event outside of turns, with its position in the log. */
type Item =
  & { readonly seq: number }
  & ({ readonly turn: Row } | { readonly outside: StoredEvent; readonly bytes: number });

class TurnPages {
  readonly #sql: ReturnType<typeof statements>;

  constructor(db: Database) {
    this.#sql = statements(db);
  }

  page(query: Parameters<EventLog["turnPage"]>[0]): TurnPage {
    const { agent, before, limit, conversation } = query;
    const { items, hasMore } = conversation === undefined
      ? this.#itemsBelow(agent, before, query.turns, limit)
      : this.#turnsOf(conversation, query);
    const parts: Part[] = [];
    let bytes = 0;
    let lowest = Number.MAX_SAFE_INTEGER;
    let isFull = false;
    for (const item of items) {
      const part = "turn" in item
        ? this.#newestOf(item.turn, limit, STREAM_LIMITS.turnBytesMax)
        : { events: [item.outside], cut: undefined, bytes: item.bytes };
      isFull = parts.length > 0 && bytes + part.bytes > STREAM_LIMITS.pageBytesMax;
      if (isFull) break;
      parts.push(part);
      bytes += part.bytes;
      lowest = item.seq;
    }
    if (before === undefined) {
      const running = this.#runningBelow(agent, lowest, limit, conversation);
      if (running !== undefined) parts.push(running);
    }
    return {
      events: parts.flatMap(({ events }) => events).sort((one, other) => one.seq - other.seq),
      cuts: parts.flatMap(({ cut }) => cut ?? []),
      before: hasMore || isFull ? lowest : undefined,
    };
  }

  part({ agent, turnId, before, limit }: Parameters<EventLog["turnPart"]>[0]): TurnPage {
    const turn = this.#sql.turn.get(agent, turnId);
    if (turn === undefined) return NOTHING;
    const bytesMax = STREAM_LIMITS.pageBytesMax;
    if (before === undefined) {
      const { events, cut } = this.#newestOf(turn, limit, bytesMax);
      return { events, cuts: cut === undefined ? [] : [cut], before: cut?.before };
    }
    const { rows, left } = this.#rowsOf(turn, before, limit, bytesMax);
    const isQuestion = left.length === 1 && left[0]?.seq === turn.question_seq;
    const events = rows.map(readEvent);
    return {
      events,
      cuts: [],
      before: left.length === 0 || isQuestion ? undefined : events[0]?.seq,
    };
  }

  /**
   * Turns and events outside of turns, newest first. Each of the two lists is read up to its own
   * limit. The result ends where the first list reached its limit: below that point, items of that
   * list would be missing.
   */
  #itemsBelow(agent: string, before: number | undefined, turns: number, limit: number) {
    const below = before ?? Number.MAX_SAFE_INTEGER;
    const turnRows = this.#sql.turnsBelow.all(agent, below, turns + 1);
    const sizes = this.#sql.outsideSizes.all(agent, below, limit + 1);
    const outside = withinPage(sizes.slice(0, limit), STREAM_LIMITS.pageBytesMax);
    const bytesOf = new Map(outside.map(({ seq, bytes }) => [Number(seq), Number(bytes)]));
    const floor = Math.max(
      turnRows.length > turns ? Number(turnRows[turns - 1]?.first_seq) : 0,
      sizes.length > outside.length ? Number(outside.at(-1)?.seq) : 0,
    );
    const from = Math.max(floor, Number(outside.at(-1)?.seq ?? below));
    const items: Item[] = [
      ...turnRows.map((turn) => ({ seq: Number(turn.first_seq), turn })),
      ...this.#sql.outside.all(agent, from, below).map((row) => ({
        seq: Number(row.seq),
        outside: readEvent(row),
        bytes: bytesOf.get(Number(row.seq)) ?? 0,
      })),
    ].filter(({ seq }) => seq >= floor);
    return { items: items.sort((one, other) => other.seq - one.seq), hasMore: floor > 0 };
  }

  /** The newest turns of one conversation. */
  #turnsOf(
    conversation: string,
    { agent, before, turns }: Parameters<EventLog["turnPage"]>[0],
  ) {
    const below = before ?? Number.MAX_SAFE_INTEGER;
    const of = namedConversation(conversation) ?? null;
    const rows = this.#sql.turnsOfBelow.all(agent, of, below, turns + 1);
    const items = rows.slice(0, turns).map((turn) => ({ seq: Number(turn.first_seq), turn }));
    return { items, hasMore: rows.length > turns };
  }

  /**
   * Returns the running turn for the newest page, if the page lacks it because more turns are
   * queued after it than fit on the page.
   */
  #runningBelow(
    agent: string,
    seq: number,
    limit: number,
    conversation: string | undefined,
  ): Part | undefined {
    const running = this.#sql.running.get(agent);
    const turn = running === undefined
      ? undefined
      : this.#sql.turn.get(agent, running.turn_id ?? null);
    const isOther = conversation !== undefined &&
      (turn?.conversation ?? undefined) !== namedConversation(conversation);
    return turn === undefined || isOther || Number(turn.first_seq) >= seq
      ? undefined
      : this.#newestOf(turn, limit, STREAM_LIMITS.turnBytesMax);
  }

  #newestOf(turn: Row, limit: number, bytesMax: number): Part {
    const { rows, bytes } = this.#rowsOf(turn, Number.MAX_SAFE_INTEGER, limit, bytesMax);
    const newest = withoutOrphans(rows.map(readEvent));
    const first = newest[0];
    const question = turn.question_seq === null || Number(turn.question_seq) >= (first?.seq ?? 0)
      ? undefined
      : this.#sql.event.get(turn.agent ?? null, turn.question_seq ?? null);
    const events = question === undefined ? newest : [readEvent(question), ...newest];
    const counts = countsWithout(readCounts(turn), events);
    return {
      events,
      bytes: bytes + (question === undefined ? 0 : String(question.payload).length),
      cut: first === undefined || counts.events <= 0
        ? undefined
        : { turnId: String(turn.turn_id), before: first.seq, counts },
    };
  }

  /**
   * Newest events of a turn below a sequence number, ascending. `left` has the older rows that did
   * not fit, up to one beyond `limit`. It is empty when no event of the turn precedes the result.
   */
  #rowsOf(turn: Row, below: number, limit: number, bytesMax: number) {
    const [agent, turnId] = [String(turn.agent), String(turn.turn_id)];
    const sizes = this.#sql.partSizes.all(agent, turnId, below, limit + 1);
    const kept = withinPage(sizes.slice(0, limit), bytesMax);
    const first = kept.at(-1);
    return {
      rows: first === undefined ? [] : this.#sql.part.all(agent, turnId, first.seq ?? 0, below),
      bytes: kept.reduce((sum, row) => sum + Number(row.bytes), 0),
      left: sizes.slice(kept.length),
    };
  }
}

function statements(db: Database) {
  // `octet_length` reads only a value's header, so sizes are known before any payload is read.
  const sizes = "select seq, octet_length(payload) as bytes from events where agent = ?";
  const all = "select * from events where agent = ?";
  return {
    turnsBelow: db.prepare(
      "select * from turn_counts where agent = ? and first_seq < ? order by first_seq desc limit ?",
    ),
    turnsOfBelow: db.prepare(
      "select * from turn_counts where agent = ? and conversation is ? and first_seq < ? " +
        "order by first_seq desc limit ?",
    ),
    turn: db.prepare("select * from turn_counts where agent = ? and turn_id = ?"),
    // Repeats the condition of the partial index `turns_open`, so that SQLite uses it.
    running: db.prepare(
      "select turn_id from turns where agent = ? and state <> 'ended' and state = 'started' " +
        "order by seq desc limit 1",
    ),
    outsideSizes: db.prepare(
      `${sizes} and seq < ? and ${OUTSIDE_TURNS} order by seq desc limit ?`,
    ),
    outside: db.prepare(`${all} and seq >= ? and seq < ? and ${OUTSIDE_TURNS} order by seq`),
    partSizes: db.prepare(`${sizes} and turn_id = ? and seq < ? order by seq desc limit ?`),
    part: db.prepare(`${all} and turn_id = ? and seq >= ? and seq < ? order by seq`),
    event: db.prepare(`${all} and seq = ?`),
  };
}

function readCounts(row: Row): EventCounts {
  const { events, calls, messages, notices, failed } = row;
  return {
    events: Number(events),
    calls: Number(calls),
    messages: Number(messages),
    notices: Number(notices),
    failed: Number(failed),
  };
}
