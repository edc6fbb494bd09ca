/**
 * The part of a transcript that the page stores: a window over the log, with each event once and
 * in order, and previews of unfinished messages. Pure: state × input → state.
 *
 * The window is limited (`WINDOW_EVENTS_MAX`, `WINDOW_CHARS_MAX`). While the reader is at its end,
 * old events are dropped at the top. While older pages are read, new events are dropped at the
 * bottom, and `hasNewer` is true until the newest page is fetched again. A turn may be truncated
 * (`cuts`): the window has its question and newest events, and counts of the events between.
 *
 * @module
 */

import {
  dropOldest,
  inPhase,
  isQuestion,
  joinTurns,
  NO_TRUNCATIONS,
  type Truncations,
  truncationsOf,
  withPart,
} from "gateway/web/state/truncations.ts";
import {
  parseCursor,
  type WireEvent,
  type WirePage,
  type WirePreview,
} from "gateway/web/state/wire.ts";

/** Largest number of events in the window. */
export const WINDOW_EVENTS_MAX = 2_000;
/** Most characters of payload in the window, as JSON. */
const WINDOW_CHARS_MAX = 16_000_000;

/** Text of an unfinished message; the `start` characters before it are missing. */
export interface Preview {
  readonly turnId: string;
  readonly messageId: string;
  readonly start: number;
  readonly text: string;
}

/** The window. */
export interface Transcript {
  readonly agent: string;
  readonly phase: "loading" | "ready" | "refused";
  /** Why nothing is shown. */
  readonly problem: string | undefined;
  readonly epoch: string;
  /** Ascending by `seq`, each once. */
  readonly events: readonly WireEvent[];
  readonly chars: number;
  /** Newest event of the log that was seen, whether in the window or not. */
  readonly head: number;
  /** Cursor for the page before the window; null at the beginning of the log. */
  readonly before: string | null;
  /** The window ends before the head. */
  readonly hasNewer: boolean;
  readonly isLoadingOlder: boolean;
  /** Loading the older page failed: it is fetched again only when the reader requests it. */
  readonly hasOlderFailed: boolean;
  readonly cuts: Truncations;
  /** Turns whose end was dropped at the bottom. */
  readonly endDropped: ReadonlySet<string>;
  readonly previews: readonly Preview[];
}

const NONE: ReadonlySet<string> = new Set();

/** An empty transcript, before anything is loaded. */
export function emptyTranscript(agent: string): Transcript {
  return {
    agent,
    phase: "loading",
    problem: undefined,
    epoch: "",
    events: [],
    chars: 0,
    head: 0,
    before: null,
    hasNewer: false,
    isLoadingOlder: false,
    hasOlderFailed: false,
    cuts: NO_TRUNCATIONS,
    endDropped: NONE,
    previews: [],
  };
}

/** Whether this much more fits without dropping anything. */
export function hasRoom(
  { events, chars }: Transcript,
  more: { readonly events: number; readonly chars: number },
): boolean {
  return events.length + more.events <= WINDOW_EVENTS_MAX &&
    chars + more.chars <= WINDOW_CHARS_MAX;
}

const sizes = new WeakMap<WireEvent, number>();

/** Characters of an event, measured once. */
function sizeOf(event: WireEvent): number {
  const known = sizes.get(event);
  if (known !== undefined) return known;
  const size = JSON.stringify(event.payload).length + 200;
  sizes.set(event, size);
  return size;
}

/** Replaces the window by the newest page. */
export function withNewestPage(state: Transcript, page: WirePage): Transcript {
  const cursor = parseCursor(page.cursor);
  if (cursor === undefined) return state;
  // A page may extend beyond its cursor, because the cursor was read first.
  const head = Math.max(cursor.seq, page.events.at(-1)?.seq ?? 0);
  const isSameLog = cursor.epoch === state.epoch;
  const events = merge([], page.events);
  return trim({
    ...state,
    phase: "ready",
    problem: undefined,
    epoch: cursor.epoch,
    events,
    chars: total(events),
    head: isSameLog ? Math.max(head, page.events.at(-1)?.seq ?? 0) : head,
    before: page.before,
    hasNewer: false,
    isLoadingOlder: false,
    hasOlderFailed: false,
    cuts: truncationsOf(page.cuts),
    endDropped: NONE,
    previews: liveOnly(state.previews, events),
  }, "top");
}

/** Adds an older page above the window. */
export function withOlderPage(state: Transcript, page: WirePage): Transcript {
  // A page that makes no progress would be requested forever.
  if (!isOfLog(state, page) || page.before === state.before) return withOlderFault(state);
  const next = { ...joined(state, page), before: page.before };
  return trim({ ...next, isLoadingOlder: false, hasOlderFailed: false }, "bottom");
}

/** Records that loading the older page failed. */
export function withOlderFault(state: Transcript): Transcript {
  return { ...state, isLoadingOlder: false, hasOlderFailed: true };
}

/** Adds a page of a turn whose beginning was missing. */
export function withTurn(state: Transcript, page: WirePage): Transcript {
  return isOfLog(state, page) ? trim(joined(state, page), "top") : state;
}

/** Inserts earlier steps of a truncated turn; `before` is the cursor of the request. */
export function withSteps(
  state: Transcript,
  of: { readonly turnId: string; readonly before: number },
  part: WirePage | undefined,
): Transcript {
  const cut = state.cuts.get(of.turnId);
  if (cut === undefined) return state;
  if (part === undefined || !isOfLog(state, part)) return withPhase(state, of.turnId, "failed");
  // The window has since dropped events below that cursor: the next press uses the new one.
  if (cut.before !== of.before) return withPhase(state, of.turnId, "idle");
  const events = merge(part.events, state.events);
  const cuts = withPart(state.cuts, cut, part);
  return trim({ ...state, events, cuts, chars: total(events) }, "bottom");
}

/** Sets the phase of loading a turn's earlier steps. */
export function withPhase(
  state: Transcript,
  turnId: string,
  phase: "idle" | "loading" | "failed",
): Transcript {
  return { ...state, cuts: inPhase(state.cuts, turnId, phase) };
}

/** Turns of these events that have neither their question nor a truncation in the window. */
export function headless(state: Transcript, given: readonly WireEvent[]): readonly string[] {
  const ids = new Set(given.flatMap(({ turnId }) => turnId ?? []));
  for (const turnId of state.cuts.keys()) ids.delete(turnId);
  for (const event of state.events) {
    if (event.turnId !== null && isQuestion(event)) ids.delete(event.turnId);
  }
  return state.hasNewer ? [] : [...ids];
}

function isOfLog(state: Transcript, page: WirePage): boolean {
  return parseCursor(page.cursor)?.epoch === state.epoch;
}

function joined(state: Transcript, page: WirePage): Transcript {
  const added = joinTurns(state, page);
  // Events newer than the window arrive by the stream.
  const known = added.events.filter(({ seq }) => seq <= state.head);
  const events = merge(known, state.events);
  return { ...state, events, cuts: added.cuts, chars: total(events) };
}

/** Adds events of the stream. */
export function withEvents(state: Transcript, given: readonly WireEvent[]): Transcript {
  const fresh = given.filter((event) => event.agent === state.agent && event.seq > state.head);
  if (fresh.length === 0) return state;
  const added = merge([], fresh);
  const head = Math.max(state.head, added.at(-1)?.seq ?? 0);
  const previews = liveOnly(state.previews, added);
  if (state.hasNewer) return { ...state, head, previews };
  const events = [...state.events, ...added];
  return trim({ ...state, events, chars: state.chars + total(added), head, previews }, "top");
}

/** Adds a piece of a message. A piece after a lost one restarts the preview. */
export function withPreview(state: Transcript, piece: WirePreview): Transcript {
  if (piece.agent !== state.agent || isOver(state.events, piece)) return state;
  const known = state.previews.find(({ messageId }) => messageId === piece.messageId);
  const others = state.previews.filter((preview) => preview !== known);
  return { ...state, previews: [...others, grown(known, piece)] };
}

function grown(known: Preview | undefined, piece: WirePreview): Preview {
  const { turnId, messageId, text } = piece;
  const end = known === undefined ? 0 : known.start + known.text.length;
  const offset = piece.offset ?? end;
  if (known === undefined || offset > end || offset < known.start) {
    return { turnId, messageId, start: offset, text };
  }
  // Skip the characters that overlap with the earlier pieces.
  return { ...known, text: known.text.slice(0, offset - known.start) + text };
}

function isOver(events: readonly WireEvent[], piece: WirePreview): boolean {
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index];
    if (event === undefined || event.turnId !== piece.turnId) continue;
    if (event.kind === "turn_ended" || endsMessage(event, piece.messageId)) return true;
    if (event.kind === "turn_started") return false;
  }
  return false;
}

function endsMessage(event: WireEvent, messageId: string): boolean {
  return event.kind === "message" && event.payload.message_id === messageId;
}

/** A finished message replaces its preview; the end of a turn removes all of its previews. */
function liveOnly(
  previews: readonly Preview[],
  events: readonly WireEvent[],
): readonly Preview[] {
  if (previews.length === 0) return previews;
  return previews.filter((preview) =>
    !events.some((event) =>
      event.turnId === preview.turnId &&
      (event.kind === "turn_ended" || endsMessage(event, preview.messageId))
    )
  );
}

function total(events: readonly WireEvent[]): number {
  return events.reduce((sum, event) => sum + sizeOf(event), 0);
}

/** Merges two lists: ascending, each event once, in any order of arrival. */
function merge(a: readonly WireEvent[], b: readonly WireEvent[]): readonly WireEvent[] {
  const bySeq = new Map<number, WireEvent>();
  for (const event of [...a, ...b]) if (!bySeq.has(event.seq)) bySeq.set(event.seq, event);
  return [...bySeq.values()].sort((one, other) => one.seq - other.seq);
}

function trim(state: Transcript, from: "top" | "bottom"): Transcript {
  let { chars } = state;
  let first = 0;
  let end = state.events.length;
  // Questions of truncated turns are kept in addition.
  const most = WINDOW_EVENTS_MAX + (from === "top" ? 0 : state.cuts.size);
  // The newest event is kept, whatever its size.
  while (end - first > 1 && (end - first > most || chars > WINDOW_CHARS_MAX)) {
    const dropped = from === "top" ? state.events[first++] : state.events[--end];
    if (dropped !== undefined) chars -= sizeOf(dropped);
  }
  if (first === 0 && end === state.events.length) return state;
  if (from === "bottom") return withoutNewest(state, end, chars);
  const { events, cuts, first: oldest } = dropOldest(state.events, state.cuts, first);
  return { ...state, events, cuts, chars: total(events), before: `${state.epoch}:${oldest}` };
}

function withoutNewest(state: Transcript, end: number, chars: number): Transcript {
  const events = state.events.slice(0, end);
  const ids = new Set(events.map(({ turnId }) => turnId));
  const dropped = state.events.slice(end).flatMap(({ turnId }) => turnId ?? []);
  return {
    ...state,
    events,
    chars,
    hasNewer: true,
    cuts: new Map([...state.cuts].filter(([turnId]) => ids.has(turnId))),
    endDropped: new Set([...state.endDropped, ...dropped].filter((turnId) => ids.has(turnId))),
  };
}
