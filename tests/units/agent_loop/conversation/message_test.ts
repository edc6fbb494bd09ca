/**
 * Records become messages that every provider accepts.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { defined } from "core/defined.ts";
import {
  callsOf,
  INTERRUPTED_TEXT,
  messagesOf,
  type SessionRecord,
} from "units/agent_loop/conversation/message.ts";

const user = (text: string): SessionRecord => ({ type: "user", at: 1, text });
const call = (call_id: string): SessionRecord => ({
  type: "assistant",
  at: 1,
  parts: [{ type: "call", call_id, tool: "bash", arguments: {} }],
});
const say = (text: string): SessionRecord => ({
  type: "assistant",
  at: 1,
  parts: [{ type: "text", text }],
});
const result = (call_id: string): SessionRecord => ({
  type: "result",
  at: 1,
  call_id,
  tool: "bash",
  status: "completed",
  text: "ok",
});
const end = (reason?: string): SessionRecord => ({
  type: "end",
  at: 1,
  outcome: reason === undefined ? "completed" : "failed",
  ...defined({ reason }),
});

Deno.test("messagesOf() adds a synthetic result to a call without one", () => {
  const messages = messagesOf([user("go"), call("c1"), user("and?")]);
  assert.deepEqual(messages.map((message) => message.role), [
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
  ]);
  assert.deepEqual(messages[2], {
    role: "tool",
    callId: "c1",
    tool: "bash",
    status: "stopped",
    text: INTERRUPTED_TEXT,
  });
});

Deno.test("messagesOf() drops results without call and repeated results", () => {
  const messages = messagesOf([user("go"), result("c0"), call("c1"), result("c1"), result("c1")]);
  assert.deepEqual(messages.map((message) => message.role), ["user", "assistant", "tool"]);
});

Deno.test("messagesOf() adds a message that says how a turn without an answer ended", () => {
  const messages = messagesOf([user("go"), end("the endpoint is down"), user("again")]);
  assert.deepEqual(messages[1], {
    role: "assistant",
    parts: [{ type: "text", text: "[the turn ended without an answer: the endpoint is down]" }],
  });
});

Deno.test("messagesOf() leaves a complete conversation unchanged", () => {
  const messages = messagesOf([user("a"), call("c1"), result("c1"), say("b"), end(), user("c")]);
  assert.deepEqual(messages.map((message) => message.role), [
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
  ]);
});

Deno.test("messagesOf() returns valid messages for any records", () => {
  const id = fc.constantFrom("c1", "c2", "c3");
  const record = fc.oneof(
    fc.string().map(user),
    fc.string().map(say),
    id.map(call),
    id.map(result),
    fc.constant(end()),
    fc.constant(end("down")),
  );
  fc.assert(fc.property(fc.array(record, { maxLength: 30 }), (records) => {
    let open = new Set<string>();
    for (const message of messagesOf(records)) {
      if (message.role === "tool") {
        assert.ok(open.delete(message.callId));
        continue;
      }
      assert.equal(open.size, 0);
      open = new Set(
        message.role === "assistant" ? callsOf(message.parts).map((part) => part.call_id) : [],
      );
    }
    assert.equal(open.size, 0);
  }));
});
