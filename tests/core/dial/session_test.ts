/** Tests of both session state machines: one row per row of their tables. @module */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type ClientInput, type ClientState, stepClient } from "units/dial/client_session.ts";
import { CLOSE, DIAL_SUBPROTOCOL } from "core/dial/frames.ts";
import { type ServerInput, type ServerState, stepServer } from "core/dial/server_session.ts";

const text = (frame: unknown): { readonly kind: "text"; readonly text: string } => ({
  kind: "text",
  text: JSON.stringify(frame),
});
const challenge = text({ type: "challenge", nonce: "n" });
const registered = text({
  type: "registered",
  version: "1",
  protocol: 1,
  acked_seq: 4,
  heartbeat_seconds: 15,
});
const ack = text({ type: "ack", seq: 3 });

const clientRows: readonly {
  readonly from: ClientState;
  readonly input: ClientInput;
  readonly to: ClientState;
  readonly effects: readonly string[];
}[] = [
  {
    from: "opening",
    input: { kind: "opened", protocol: DIAL_SUBPROTOCOL },
    to: "greeting",
    effects: [],
  },
  {
    from: "opening",
    input: { kind: "opened", protocol: "" },
    to: "registering",
    effects: ["register"],
  },
  { from: "opening", input: challenge, to: "ended", effects: ["close"] },
  { from: "greeting", input: challenge, to: "proving", effects: ["sign"] },
  { from: "greeting", input: registered, to: "ended", effects: ["close"] },
  {
    from: "proving",
    input: { kind: "signed", key: "k", proof: "p" },
    to: "registering",
    effects: ["register"],
  },
  { from: "registering", input: registered, to: "registered", effects: ["resume"] },
  { from: "registering", input: ack, to: "ended", effects: ["close"] },
  { from: "registering", input: challenge, to: "ended", effects: ["close"] },
  { from: "registered", input: ack, to: "registered", effects: ["deliver"] },
  { from: "registered", input: registered, to: "ended", effects: ["close"] },
  { from: "registered", input: { kind: "time-is-up" }, to: "registered", effects: [] },
  { from: "greeting", input: { kind: "time-is-up" }, to: "ended", effects: ["close"] },
  { from: "registered", input: text({ type: "later" }), to: "registered", effects: ["skip"] },
  { from: "greeting", input: text({ type: "later" }), to: "greeting", effects: ["skip"] },
  { from: "registered", input: { kind: "text", text: "{" }, to: "ended", effects: ["close"] },
  {
    from: "registering",
    input: text({ type: "closing", reason: "r", retry_after_ms: 1 }),
    to: "registering",
    effects: ["deliver"],
  },
  { from: "registered", input: { kind: "closed" }, to: "ended", effects: [] },
  { from: "ended", input: registered, to: "ended", effects: [] },
];
for (const { from, input, to, effects } of clientRows) {
  const shown = input.kind === "text" ? input.text : input.kind;
  Deno.test(`stepClient() goes from ${from} to ${to} on ${shown}`, () => {
    const step = stepClient(from, input);
    assert.equal(step.state, to);
    assert.deepEqual(step.effects.map((effect) => effect.kind), effects);
  });
}

const waiting: ServerState = { phase: "waiting" };
const checking: ServerState = { phase: "checking", early: [] };
const open: ServerState = { phase: "registered" };
const register = text({ type: "register", user_email: "a@b.c", agent: "ada" });
const accepted = text({ type: "turn_accepted", turn_id: "t" });

const serverRows: readonly {
  readonly from: ServerState;
  readonly input: ServerInput;
  readonly to: ServerState["phase"];
  readonly effects: readonly string[];
}[] = [
  { from: waiting, input: register, to: "checking", effects: ["check"] },
  { from: waiting, input: accepted, to: "ended", effects: ["reject", "close"] },
  { from: waiting, input: text({ type: "later" }), to: "ended", effects: ["reject", "close"] },
  {
    from: waiting,
    input: { kind: "text", text: "GET /" },
    to: "ended",
    effects: ["reject", "close"],
  },
  { from: waiting, input: { kind: "time-is-up" }, to: "ended", effects: ["reject", "close"] },
  { from: waiting, input: { kind: "closed" }, to: "ended", effects: [] },
  { from: checking, input: { kind: "accepted" }, to: "registered", effects: [] },
  { from: checking, input: { kind: "rejected" }, to: "ended", effects: ["close"] },
  { from: checking, input: { kind: "time-is-up" }, to: "checking", effects: [] },
  { from: checking, input: accepted, to: "checking", effects: [] },
  { from: open, input: accepted, to: "registered", effects: ["deliver"] },
  { from: open, input: text({ type: "later" }), to: "registered", effects: ["skip"] },
  { from: open, input: register, to: "ended", effects: ["close"] },
  { from: open, input: { kind: "text", text: "{" }, to: "ended", effects: ["close"] },
  { from: { phase: "ended" }, input: register, to: "ended", effects: [] },
];
for (const { from, input, to, effects } of serverRows) {
  const shown = input.kind === "text" ? input.text : input.kind;
  Deno.test(`stepServer() goes from ${from.phase} to ${to} on ${shown}`, () => {
    const step = stepServer(from, input);
    assert.equal(step.state.phase, to);
    assert.deepEqual(step.effects.map((effect) => effect.kind), effects);
  });
}

Deno.test("stepServer() passes early frames on once the session is accepted, in order", () => {
  let state: ServerState = checking;
  for (const id of ["a", "b"]) {
    state = stepServer(state, text({ type: "turn_accepted", turn_id: id })).state;
  }
  const step = stepServer(state, { kind: "accepted" });
  const ids = step.effects.map((effect) =>
    effect.kind === "deliver" && effect.frame.type === "turn_accepted" ? effect.frame.turn_id : ""
  );
  assert.deepEqual(ids, ["a", "b"]);
});

Deno.test("stepServer() refuses a peer that floods it before the answer", () => {
  let state: ServerState = checking;
  for (let count = 0; count < 20; count++) state = stepServer(state, accepted).state;
  assert.equal(state.phase, "ended");
});

Deno.test("stepServer() closes every refused registration with the same reason", () => {
  const closes = [
    stepServer(waiting, accepted),
    stepServer(waiting, { kind: "time-is-up" }),
    stepServer(checking, { kind: "rejected" }),
  ].map((step) => step.effects.at(-1));
  for (const close of closes) {
    assert.deepEqual(close, {
      kind: "close",
      code: CLOSE.policyViolation,
      reason: "not authorized",
    });
  }
});

Deno.test("stepServer() passes nothing on before a session is accepted", () => {
  fc.assert(fc.property(fc.array(fc.string()), (texts) => {
    let state: ServerState = waiting;
    for (const one of texts) {
      const step = stepServer(state, { kind: "text", text: one });
      state = step.state;
      assert.ok(step.effects.every((effect) => effect.kind !== "deliver"));
    }
  }));
});
