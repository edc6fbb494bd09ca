/**
 * Truncated turns: the window contains only their question and newest steps, and counts of the
 * omitted events between. Pure.
 *
 * @module
 */

import type { EventCounts, WireEvent, WireTruncation } from "gateway/web/state/wire.ts";

/** A truncated turn, and whether its earlier steps are being loaded. */
export interface Truncation extends WireTruncation {
  readonly phase: "idle" | "loading" | "failed";
}

/** Truncated turns by their id. */
export type Truncations = ReadonlyMap<string, Truncation>;

/** No turn is truncated. */
export const NO_TRUNCATIONS: Truncations = new Map();

/** Whether an event is the question of its turn. */
export function isQuestion({ kind }: WireEvent): boolean {
  return kind === "turn_queued" || kind === "turn_asked";
}

/** Indexes a page's truncated turns by id. */
export function truncationsOf(given: readonly WireTruncation[]): Truncations {
  return new Map(given.map((cut) => [cut.turnId, { ...cut, phase: "idle" }]));
}

/** Returns the counts with these events added, or subtracted when `sign` is -1. */
function counted(
  counts: EventCounts | undefined,
  events: readonly WireEvent[],
  sign: 1 | -1,
): EventCounts {
  const of = (fits: (event: WireEvent) => boolean) => sign * events.filter(fits).length;
  const isKind = (kind: string) => (event: WireEvent) => event.kind === kind;
  const isFailed = ({ kind, payload }: WireEvent) =>
    kind === "tool_result" && (payload.status === "failed" || payload.status === "denied");
  return {
    events: (counts?.events ?? 0) + of(() => true),
    calls: (counts?.calls ?? 0) + of(isKind("tool_result")),
    messages: (counts?.messages ?? 0) + of(isKind("message")),
    notices: (counts?.notices ?? 0) + of(isKind("notice")),
    failed: (counts?.failed ?? 0) + of(isFailed),
  };
}

/**
 * Merges a page into a window: the events that the window lacks, and the truncated turns of both.
 */
export function joinTurns(
  held: { readonly events: readonly WireEvent[]; readonly cuts: Truncations },
  page: { readonly events: readonly WireEvent[]; readonly cuts: readonly WireTruncation[] },
): { readonly events: readonly WireEvent[]; readonly cuts: Truncations } {
  const own = new Map<string, { asked: boolean; steps: WireEvent[] }>();
  for (const event of held.events) {
    if (event.turnId === null) continue;
    const turn = own.get(event.turnId) ?? { asked: false, steps: [] };
    own.set(event.turnId, turn);
    if (isQuestion(event)) turn.asked = true;
    else turn.steps.push(event);
  }
  const firstOf = (turnId: string | null) => own.get(turnId ?? "")?.steps[0]?.seq;
  // For a turn in the window, the page adds only earlier events: later ones came by the stream.
  const events = page.events.filter(({ turnId, seq }) => seq < (firstOf(turnId) ?? Infinity));
  const cuts = new Map(held.cuts);
  for (const cut of page.cuts) {
    const turn = own.get(cut.turnId);
    const first = firstOf(cut.turnId);
    if (turn === undefined || first === undefined || cut.before <= first) {
      cuts.set(cut.turnId, { ...cut, phase: "idle" });
      continue;
    }
    // The window has more of this turn than the page, or all of it.
    if (turn.asked) continue;
    const between = turn.steps.filter(({ seq }) => seq < cut.before);
    const counts = counted(cut.counts, between, -1);
    if (counts.events > 0) cuts.set(cut.turnId, { ...cut, before: first, counts, phase: "idle" });
  }
  return { events, cuts };
}

/** Returns the truncated turns after `part`, the earlier steps of `cut`, was added. */
export function withPart(
  cuts: Truncations,
  cut: Truncation,
  part: { readonly events: readonly WireEvent[]; readonly before: string | null },
): Truncations {
  const rest = new Map(cuts);
  const steps = part.events.filter((event) => !isQuestion(event));
  const counts = counted(cut.counts, steps, -1);
  const before = steps[0]?.seq;
  if (part.before === null || before === undefined || counts.events <= 0) rest.delete(cut.turnId);
  else rest.set(cut.turnId, { ...cut, before, counts, phase: "idle" });
  return rest;
}

/** Sets the phase of a truncated turn. */
export function inPhase(
  cuts: Truncations,
  turnId: string,
  phase: Truncation["phase"],
): Truncations {
  const cut = cuts.get(turnId);
  return cut === undefined ? cuts : new Map([...cuts, [turnId, { ...cut, phase }]]);
}

/**
 * Drops the oldest events, and results whose calls were dropped. A turn that continues in the
 * window keeps its question and becomes truncated.
 */
export function dropOldest(
  events: readonly WireEvent[],
  cuts: Truncations,
  atLeast: number,
): { readonly events: readonly WireEvent[]; readonly cuts: Truncations; readonly first: number } {
  let count = atLeast;
  while (count < events.length - 1 && events[count]?.kind === "tool_result") count++;
  const kept = events.slice(count);
  const first = new Map<string, number>();
  for (const event of kept) {
    if (event.turnId === null || isQuestion(event) || first.has(event.turnId)) continue;
    first.set(event.turnId, event.seq);
  }
  const questions = new Map<string, WireEvent>();
  const dropped = new Map<string, WireEvent[]>();
  for (const event of events.slice(0, count)) {
    if (event.turnId === null || !first.has(event.turnId)) continue;
    const known = questions.get(event.turnId);
    // Prefer the gateway's own record of the question, as the page does when it shows a turn.
    const isBetter = known?.kind !== "turn_queued" &&
      (known === undefined || event.kind === "turn_queued");
    if (isQuestion(event)) {
      if (isBetter) questions.set(event.turnId, event);
      continue;
    }
    const steps = dropped.get(event.turnId) ?? [];
    steps.push(event);
    dropped.set(event.turnId, steps);
  }
  const left = new Map([...cuts].filter(([turnId]) => first.has(turnId)));
  for (const [turnId, steps] of dropped) {
    const old = left.get(turnId);
    const counts = counted(old?.counts, steps, 1);
    left.set(turnId, {
      turnId,
      counts,
      before: first.get(turnId) ?? 0,
      phase: old?.phase === "loading" ? "loading" : "idle",
    });
  }
  return { events: [...questions.values(), ...kept], cuts: left, first: kept[0]?.seq ?? 0 };
}

/** Label of the row for omitted events; empty when none of them would be visible. */
export function cutWords({ calls, messages, notices, failed }: EventCounts): string {
  const steps = calls + messages + notices;
  if (steps <= 0) return "";
  const words = steps === 1 ? "1 earlier step" : `${steps} earlier steps`;
  return failed > 0 ? `${words}, ${failed} failed` : words;
}
