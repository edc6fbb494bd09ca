/** Tests of frames and events on the wire. @module */

import assert from "node:assert/strict";
import { type DurableEvent, readAgentEvent } from "core/dial/event.ts";
import { byteLength, cutText } from "core/text/cut_text.ts";
import { fitPayload } from "units/dial/fit_event.ts";
import { decodeClientFrame, decodeServerFrame } from "core/dial/frames.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { TURN_LIMITS } from "core/limits/turn.ts";
import fc from "fast-check";

const garbage = ["", "x", "1", "null", "[]", "{}", '{"type":1}', '{"type":"register"}'];
for (const text of garbage) {
  Deno.test(`decodeClientFrame() rejects ${JSON.stringify(text)} as garbage`, () => {
    assert.equal(decodeClientFrame(text).kind, "garbage");
  });
}

Deno.test("decodeClientFrame() distinguishes an unknown type from garbage", () => {
  assert.deepEqual(decodeClientFrame('{"type":"dance","n":1}'), { kind: "unknown", type: "dance" });
});

Deno.test("decodeClientFrame() ignores unknown fields", () => {
  const decoded = decodeClientFrame('{"type":"register","user_email":"a","agent":"b","x":1}');
  assert.deepEqual(decoded, {
    kind: "frame",
    frame: { type: "register", user_email: "a", agent: "b" },
  });
});

Deno.test("decodeServerFrame() reads a turn", () => {
  const text = '{"type":"turn","turn_id":"t","text":"hi","origin":"owner:a","created":1}';
  assert.equal(decodeServerFrame(text).kind, "frame");
});

const event = (kind: string, payload: Record<string, unknown>): DurableEvent => ({
  seq: 1,
  at: 1,
  kind,
  payload,
});

Deno.test("readAgentEvent() keeps a known kind and drops unknown fields", () => {
  assert.deepEqual(readAgentEvent(event("notice", { text: "hi", x: 1 })), {
    kind: "notice",
    payload: { text: "hi" },
  });
});

Deno.test("readAgentEvent() keeps the kind of a newer version unchanged", () => {
  assert.deepEqual(readAgentEvent(event("dance", { x: 1 })), { kind: "dance", payload: { x: 1 } });
});

for (const kind of ["turn_queued", "turn_delivered"]) {
  Deno.test(`readAgentEvent() turns ${kind}, which only a gateway may send, into a notice`, () => {
    const read = readAgentEvent(event(kind, { text: "forged", origin: "owner:a@b.c", hops: 0 }));
    assert.equal(read.kind, "notice");
    assert.ok(!JSON.stringify(read.payload).includes("forged"));
  });
}

Deno.test("readAgentEvent() stores a question only within its limits", () => {
  const field = (name: string) => ({ name, title: "t", kind: "text", required: false });
  const asked = (more: Record<string, unknown>) =>
    readAgentEvent(event("question_asked", {
      question_id: "q",
      mcp: null,
      message: "m",
      fields: [field("a")],
      expires: 1,
      ...more,
    })).kind;
  assert.equal(asked({}), "question_asked");
  assert.equal(asked({ fields: [], url: "https://vendor.example/" }), "question_asked");
  for (
    const more of [
      { fields: Array.from({ length: 17 }, (_, at) => field(`f${at}`)) },
      { fields: [field("a"), field("a")] },
      { fields: [field("a\u001b")] },
      { fields: [{ ...field("a"), kind: "password" }] },
      { fields: [{ ...field("a"), kind: "choice" }] },
      { fields: [{ ...field("a"), options: [{ value: 1, label: "one" }] }] },
      { message: "x".repeat(17_000) },
      { url: "http://vendor.example/" },
      { url: "javascript:alert(1)" },
    ]
  ) assert.equal(asked(more), "notice", JSON.stringify(more).slice(0, 80));
});

Deno.test("readAgentEvent() turns an invalid payload into a notice", () => {
  assert.equal(readAgentEvent(event("message", { text: 1 })).kind, "notice");
});

Deno.test("cutText() cuts at a character and counts the removed bytes", () => {
  assert.deepEqual(cutText("aé", 2), { text: "a", cutBytes: 2 });
  assert.deepEqual(cutText("aé", 3), { text: "aé", cutBytes: 0 });
});

Deno.test("fitPayload() makes any text fit a frame", () => {
  const text = "\u0000".repeat(TURN_LIMITS.messageBytesMax);
  const fitted = fitPayload("message", { message_id: "m", role: "assistant", text });
  assert.ok(byteLength(JSON.stringify(fitted)) < DIAL_LIMITS.frameBytesMax);
  assert.equal(Number(fitted.cut_bytes) + String(fitted.text).length, text.length);
});

Deno.test("fitPayload() cuts the arguments of a call to their limit", () => {
  const args = { path: "x".repeat(TURN_LIMITS.toolArgumentsBytesMax * 2) };
  const fitted = fitPayload("tool_call", { call_id: "c", mcp: null, tool: "t", arguments: args });
  assert.equal(String(fitted.arguments).length, TURN_LIMITS.toolArgumentsBytesMax);
  assert.ok(Number(fitted.cut_bytes) > 0);
});

Deno.test("fitPayload() keeps a payload that fits", () => {
  fc.assert(fc.property(fc.string({ maxLength: 2000 }), (text) => {
    assert.deepEqual(fitPayload("notice", { text }), { text });
  }));
});
