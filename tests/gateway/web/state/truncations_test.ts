/**
 * Cut turns in the window of a transcript: in any order of fetching, streaming and dropping, the
 * events left out of a turn are counted, and the question stays.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { cutWords, isQuestion } from "gateway/web/state/truncations.ts";
import {
  emptyTranscript,
  headless,
  type Transcript,
  WINDOW_EVENTS_MAX,
  withEvents,
  withNewestPage,
  withOlderPage,
  withSteps,
  withTurn,
} from "gateway/web/state/transcript.ts";
import type { EventCounts, WireEvent, WirePage } from "gateway/web/state/wire.ts";

/** A gateway's log of one agent, and its pages. */
class Log {
  readonly events: WireEvent[] = [];

  add(turnId: string | null, kind: string): WireEvent {
    const event = { seq: this.events.length + 1, agent: "ada", turnId, at: 1, kind, payload: {} };
    this.events.push(event);
    return event;
  }

  turn(turnId: string): readonly WireEvent[] {
    return this.events.filter((event) => event.turnId === turnId);
  }

  page(turns: number, limit: number, before = Infinity): WirePage {
    const starts = new Map<string, number>();
    for (const { turnId, seq } of this.events) {
      if (turnId !== null && !starts.has(turnId)) starts.set(turnId, seq);
    }
    const found = [...starts].filter(([, seq]) => seq < before).slice(-turns - 1);
    const shown = found.slice(-turns);
    const from = found.length > turns ? shown[0]?.[1] ?? 0 : 0;
    const parts = shown.map(([turnId]) => this.part(turnId, limit));
    const asides = this.events.filter(({ turnId, seq }) =>
      turnId === null && seq >= from && seq < before
    );
    return {
      ...this.#answer([...asides, ...parts.flatMap(({ events }) => events)]),
      before: from > 0 ? `e:${from}` : null,
      cuts: parts.flatMap(({ cuts }) => cuts),
    };
  }

  part(turnId: string, limit: number, before = Infinity): WirePage {
    const below = this.turn(turnId).filter(({ seq }) => seq < before);
    const events = below.slice(-limit);
    if (before !== Infinity) {
      const first = below.length > limit ? events[0]?.seq : undefined;
      return { ...this.#answer(events), before: first === undefined ? null : `e:${first}` };
    }
    const asked = below.find(isQuestion);
    const all = asked === undefined || events.includes(asked) ? events : [asked, ...events];
    const counts = countsOf(below.filter((event) => !all.includes(event)));
    const cut = { turnId, before: events[0]?.seq ?? 0, counts };
    return { ...this.#answer(all), cuts: counts.events > 0 ? [cut] : [] };
  }

  #answer(events: readonly WireEvent[]): WirePage {
    const sorted = [...events].sort((a, b) => a.seq - b.seq);
    return { events: sorted, before: null, cursor: `e:${this.events.length}`, cuts: [] };
  }
}

function countsOf(events: readonly WireEvent[]): EventCounts {
  const of = (kind: string) => events.filter((event) => event.kind === kind).length;
  return {
    events: events.length,
    calls: of("tool_result"),
    messages: of("message"),
    notices: of("notice"),
    failed: 0,
  };
}

/**
 * Asserts that each event is there once, and that each requested turn has its question and the
 * events after its cut.
 */
function assertSound(state: Transcript, log: Log): void {
  const seqs = state.events.map(({ seq }) => seq);
  assert.deepEqual(seqs, [...new Set(seqs)].sort((a, b) => a - b));
  for (const turnId of new Set(state.events.flatMap((event) => event.turnId ?? []))) {
    if (headless(state, log.turn(turnId)).length > 0) continue;
    const held = state.events.filter((event) => event.turnId === turnId);
    const known = log.turn(turnId).filter(({ seq }) => seq <= state.head);
    const cut = state.cuts.get(turnId);
    const wanted = known.filter((event, index) =>
      cut === undefined || event.seq >= cut.before || (index === 0 && isQuestion(event))
    );
    assert.deepEqual(held.map(({ seq }) => seq), wanted.map(({ seq }) => seq), turnId);
    const left = countsOf(known.filter((event) => !wanted.includes(event)));
    assert.deepEqual(cut?.counts ?? countsOf([]), left, turnId);
    assert.ok(cut === undefined || left.events > 0, "a cut leaves something out");
  }
}

const start = (log: Log, turns: number, limit: number) =>
  withNewestPage(emptyTranscript("ada"), log.page(turns, limit));

Deno.test("a window of cut turns stays consistent, whatever arrives in any order", () => {
  const kind = fc.constantFrom("tool_call", "message", "notice", "tool_result");
  const step = fc.oneof(
    fc.record({ what: fc.constant("add" as const), turn: fc.nat(6), kind }),
    fc.record({ what: fc.constantFrom("older", "steps", "heads"), turn: fc.nat(6) }),
  );
  fc.assert(
    fc.property(
      fc.array(fc.record({ turn: fc.nat(3), kind }), { maxLength: 80 }),
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 5 }),
      (past, steps, turns, limit) => {
        const log = new Log();
        const add = (n: number, kind: string): WireEvent[] => {
          const turnId = n === 0 ? null : `t${n}`;
          const isNew = turnId !== null && log.turn(turnId).length === 0;
          return [...isNew ? [log.add(turnId, "turn_queued")] : [], log.add(turnId, kind)];
        };
        for (const { turn, kind } of past) add(turn, kind);
        let state = start(log, turns, limit);
        const waiting = new Set<string>();
        for (const step of steps) {
          const turnId = `t${step.turn}`;
          if (step.what === "add") {
            const fresh = add(step.turn, step.kind);
            state = withEvents(state, fresh);
            for (const id of headless(state, fresh)) waiting.add(id);
          } else if (step.what === "heads") {
            // Several events may arrive before the response.
            for (const id of waiting) state = withTurn(state, log.part(id, limit));
            waiting.clear();
          } else if (step.what === "older" && state.before !== null) {
            const before = Number(state.before.slice(2));
            state = withOlderPage(state, log.page(turns, limit, before));
          } else {
            const before = state.cuts.get(turnId)?.before;
            if (before === undefined) continue;
            state = withSteps(state, { turnId, before }, log.part(turnId, limit, before));
          }
          assertSound(state, log);
        }
        for (const id of waiting) state = withTurn(state, log.part(id, limit));
        while (state.before !== null) {
          state = withOlderPage(state, log.page(turns, limit, Number(state.before.slice(2))));
        }
        for (const { turnId } of [...state.cuts.values()]) {
          for (let cut = state.cuts.get(turnId); cut; cut = state.cuts.get(turnId)) {
            const { before } = cut;
            state = withSteps(state, { turnId, before }, log.part(turnId, limit, before));
          }
        }
        assert.deepEqual(state.events, log.events, "everything can be reached");
      },
    ),
  );
});

Deno.test("a turn that outgrows the window keeps its question, and its steps come back", () => {
  const log = new Log();
  const fresh = [log.add("t", "turn_queued"), log.add("t", "turn_started")];
  for (let n = 0; n < WINDOW_EVENTS_MAX; n++) {
    fresh.push(log.add("t", "tool_call"), log.add("t", "tool_result"));
  }
  const last = log.add("u", "turn_queued");
  let state = start(new Log(), 10, 100);
  state = { ...state, epoch: "e" };
  for (let at = 0; at < fresh.length; at += 500) {
    state = withEvents(state, fresh.slice(at, at + 500));
    assertSound(state, log);
  }
  state = withEvents(state, [last]);
  assertSound(state, log);
  assert.equal(state.events[0]?.kind, "turn_queued");
  const cut = state.cuts.get("t");
  const shown = state.events.filter(({ kind }) => kind === "tool_call").length;
  assert.equal(cut?.counts.calls, WINDOW_EVENTS_MAX - shown);
  assert.equal(cutWords(cut.counts), `${WINDOW_EVENTS_MAX - shown} earlier steps`);
  const { before } = cut;
  state = withSteps(state, { turnId: "t", before }, log.part("t", 200, before));
  assert.equal(state.cuts.get("t")?.counts.calls, WINDOW_EVENTS_MAX - shown - 100);
  assert.equal(state.hasNewer, true, "what is newest makes room for what was asked for");
  assert.deepEqual([...state.endDropped], ["t"]);
});

Deno.test("a turn whose end fell out of the window is not repaired by an older page", () => {
  const log = new Log();
  log.add("old", "turn_queued");
  log.add("t", "turn_queued");
  for (let n = 0; n < 2 * WINDOW_EVENTS_MAX; n++) log.add("t", "tool_call");
  let state = start(log, 1, 100);
  while (!state.hasNewer) {
    const before = state.cuts.get("t")?.before ?? 0;
    state = withSteps(state, { turnId: "t", before }, log.part("t", 500, before));
  }
  const { cuts, events } = state;
  state = withOlderPage({ ...state, before: "e:3" }, log.page(2, 100, 3));
  assert.deepEqual(state.cuts, cuts);
  assert.deepEqual(state.events.slice(1), events.slice(0, state.events.length - 1));
});

Deno.test("steps that come late for a window that has moved leave no gap", () => {
  const log = new Log();
  log.add("t", "turn_queued");
  for (let n = 0; n < 300; n++) log.add("t", "tool_call");
  const state = start(log, 10, 100);
  const cut = state.cuts.get("t");
  assert.ok(cut);
  const of = { turnId: "t", before: cut.before - 10 };
  const same = withSteps(state, of, log.part("t", 100, of.before));
  assert.deepEqual(same.events, state.events);
  const failed = withSteps(state, { turnId: "t", before: cut.before }, undefined);
  assert.equal(failed.cuts.get("t")?.phase, "failed");
});

Deno.test("an older page that leads no further counts as failed", () => {
  const log = new Log();
  for (let n = 0; n < 30; n++) log.add(`t${n}`, "turn_queued");
  const state = { ...start(log, 10, 100), isLoadingOlder: true };
  const same = withOlderPage(state, { ...log.page(10, 100), before: state.before });
  assert.deepEqual([same.isLoadingOlder, same.hasOlderFailed], [false, true]);
});

Deno.test("cutWords() counts what would be shown", () => {
  const none = { events: 2, calls: 0, messages: 0, notices: 0, failed: 0 };
  assert.equal(cutWords(none), "");
  assert.equal(cutWords({ ...none, calls: 1 }), "1 earlier step");
  const many = { ...none, calls: 551, messages: 3, failed: 4 };
  assert.equal(cutWords(many), "554 earlier steps, 4 failed");
});
