/**
 * The window of a transcript: each event once and in order, even if events arrive twice, late or
 * with gaps.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  emptyTranscript,
  type Transcript,
  WINDOW_EVENTS_MAX,
  withEvents,
  withNewestPage,
  withOlderPage,
  withPreview,
} from "gateway/web/state/transcript.ts";
import type { WireEvent } from "gateway/web/state/wire.ts";

function event(seq: number, more: Partial<WireEvent> = {}): WireEvent {
  return { seq, agent: "ada", turnId: "t1", at: seq, kind: "notice", payload: {}, ...more };
}
function range(from: number, to: number): WireEvent[] {
  return Array.from({ length: to - from + 1 }, (_, index) => event(from + index));
}
function page(from: number, to: number, head = to) {
  return {
    events: range(from, to),
    before: from > 1 ? `e:${from}` : null,
    cursor: `e:${head}`,
    cuts: [],
  };
}
function seqs(state: Transcript): readonly number[] {
  return state.events.map(({ seq }) => seq);
}
const ready = withNewestPage(emptyTranscript("ada"), page(101, 200));

Deno.test("withEvents() applies each event once, in order, after any cuts and repeats", () => {
  fc.assert(fc.property(
    fc.array(fc.record({ from: fc.nat(40), size: fc.integer({ min: 1, max: 10 }) })),
    (cuts) => {
      let state = ready;
      let reached = 200;
      for (const { from, size } of cuts) {
        // A resumed stream may begin anywhere before the newest event seen, and has no gaps.
        const start = Math.max(101, reached + 1 - from);
        const end = Math.max(reached, start + size - 1);
        state = withEvents(state, range(start, end));
        reached = end;
      }
      assert.deepEqual(seqs(state), range(101, reached).map(({ seq }) => seq));
      assert.equal(state.head, reached);
    },
  ));
});

Deno.test("withEvents() leaves out other agents' events", () => {
  assert.equal(withEvents(ready, [event(201, { agent: "bob" })]), ready);
});

Deno.test("a window at its end stays bounded and knows where its older page is", () => {
  let state = ready;
  for (let from = 201; from < 100_000; from += 500) {
    state = withEvents(state, range(from, from + 499));
  }
  assert.equal(state.events.length, WINDOW_EVENTS_MAX);
  assert.equal(state.before, `e:${state.events[0]?.seq}`);
  assert.equal(state.hasNewer, false);
});

Deno.test("older pages push the newest events out, and the newest page brings them back", () => {
  let state = withNewestPage(emptyTranscript("ada"), page(99_901, 100_000));
  for (let to = 99_900; to > 95_000; to -= 500) state = withOlderPage(state, page(to - 499, to));
  assert.equal(state.events.length, WINDOW_EVENTS_MAX);
  assert.ok(state.hasNewer);
  const streamed = withEvents(state, range(100_001, 100_010));
  assert.deepEqual(seqs(streamed), seqs(state), "what follows a gap is not put behind it");
  assert.equal(streamed.head, 100_010);
  const newest = withNewestPage(streamed, page(99_911, 100_010));
  assert.equal(newest.hasNewer, false);
  assert.equal(newest.events.at(-1)?.seq, 100_010);
});

Deno.test("one event too large for the window is still shown", () => {
  const state = withEvents(ready, [event(201, { payload: { text: "x".repeat(17_000_000) } })]);
  assert.deepEqual(seqs(state), [201]);
});

Deno.test("a new log replaces the window", () => {
  const state = withNewestPage(ready, {
    events: range(1, 3),
    before: null,
    cursor: "f:3",
    cuts: [],
  });
  assert.deepEqual(seqs(state), [1, 2, 3]);
  assert.equal(state.head, 3);
  const old = withOlderPage(state, page(1, 100));
  assert.deepEqual(seqs(old), [1, 2, 3], "a page of the old log is not mixed in");
});

const piece = { agent: "ada", turnId: "t1", messageId: "m" };

Deno.test("withPreview() joins pieces, skips repeats and starts again after a gap", () => {
  let state = withPreview(ready, { ...piece, text: "Hello ", offset: 0 });
  state = withPreview(state, { ...piece, text: "world", offset: 6 });
  state = withPreview(state, { ...piece, text: "world!", offset: 6 });
  assert.equal(state.previews[0]?.text, "Hello world!");
  state = withPreview(state, { ...piece, text: "later", offset: 40 });
  assert.deepEqual(state.previews[0], { ...state.previews[0], start: 40, text: "later" });
});

Deno.test("the finished message, and the end of the turn, replace previews for good", () => {
  const message = event(201, { kind: "message", payload: { message_id: "m" } });
  const ended = event(201, { kind: "turn_ended" });
  for (const last of [message, ended]) {
    const state = withEvents(withPreview(ready, { ...piece, text: "x", offset: 0 }), [last]);
    assert.deepEqual(state.previews, []);
    const late = withPreview(state, { ...piece, text: "x", offset: 0 });
    assert.deepEqual(late.previews, [], "a late piece does not bring it back");
  }
});
