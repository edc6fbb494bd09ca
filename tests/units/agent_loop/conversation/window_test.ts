/**
 * The conversation within a window: it fits, calls and results stay paired, and dropped parts leave
 * markers.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { callsOf, type Message } from "units/agent_loop/conversation/message.ts";
import { fitHistory, historyTokens, messageTokens } from "units/agent_loop/conversation/window.ts";

/**
 * Checks that every call has its result right after its answer, and that no result lacks a call.
 */
function assertPaired(messages: readonly Message[]): void {
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") {
      assert.ok(open.delete(message.callId), `result ${message.callId} has no call`);
      continue;
    }
    assert.equal(open.size, 0, "a call has no result");
    open = new Set(
      message.role === "assistant" ? callsOf(message.parts).map((call) => call.call_id) : [],
    );
  }
  assert.equal(open.size, 0, "the last call has no result");
}

const words = fc.string({ maxLength: 3000, unit: "grapheme" });
/** A step: an answer with calls and their results. */
const step = fc.record({
  text: words,
  results: fc.array(fc.record({ text: words, arguments: words }), { maxLength: 3 }),
});
const turn = fc.record({ user: words, steps: fc.array(step, { maxLength: 4 }), last: words });
const history = fc.array(turn, { minLength: 1, maxLength: 8 }).map((turns) => {
  let serial = 0;
  return turns.flatMap(({ user, steps, last }): Message[] => [
    { role: "user", text: user },
    ...steps.flatMap(({ text, results }): Message[] => {
      const calls = results.map((result) => ({
        type: "call" as const,
        call_id: `c${++serial}`,
        tool: "bash",
        arguments: { command: result.arguments },
      }));
      return [
        { role: "assistant", parts: [{ type: "text", text }, ...calls] },
        ...results.map((result, index): Message => ({
          role: "tool",
          callId: calls[index]?.call_id ?? "",
          tool: "bash",
          status: "completed",
          text: result.text,
        })),
      ];
    }),
    { role: "assistant", parts: [{ type: "text", text: last }] },
  ]);
});

Deno.test("fitHistory() stays within the budget, and keeps calls with their results", () => {
  fc.assert(
    fc.property(history, fc.integer({ min: 1500, max: 20_000 }), (messages, budgetTokens) => {
      const fitted = fitHistory(messages, { budgetTokens });
      assert.ok(historyTokens(fitted.messages) <= budgetTokens, "it does not fit");
      assertPaired(fitted.messages);
      assert.equal(fitted.messages[0]?.role, "user");
      const users = fitted.messages.filter((message) => message.role === "user").length;
      const before = messages.filter((message) => message.role === "user").length;
      assert.equal(users + fitted.droppedTurns, before);
      if (historyTokens(messages) + 48 <= budgetTokens) {
        assert.deepEqual(fitted.messages, messages);
      }
    }),
    { numRuns: 300 },
  );
});

Deno.test("fitHistory() shortens old results before it drops a turn", () => {
  const messages: Message[] = [
    { role: "user", text: "look" },
    { role: "assistant", parts: [{ type: "call", call_id: "c1", tool: "read", arguments: {} }] },
    { role: "tool", callId: "c1", tool: "read", status: "completed", text: "x".repeat(30_000) },
    { role: "assistant", parts: [{ type: "text", text: "seen" }] },
    { role: "user", text: "and now?" },
  ];
  const fitted = fitHistory(messages, { budgetTokens: 2_000 });
  assert.equal(fitted.droppedTurns, 0);
  assert.equal(fitted.shortenedResults, 1);
  const result = fitted.messages[2];
  assert.ok(result?.role === "tool" && /bytes left out/.test(result.text));
});

Deno.test("fitHistory() counts the missing turns, including those dropped by earlier fits", () => {
  const messages = Array.from({ length: 40 }, (_, index): Message[] => [
    { role: "user", text: `question ${index} ${"q".repeat(600)}` },
    { role: "assistant", parts: [{ type: "text", text: "a".repeat(600) }] },
  ]).flat();
  const fitted = fitHistory(messages, { budgetTokens: 4_000, forgottenTurns: 5 });
  const [first] = fitted.messages;
  assert.ok(first?.role === "user");
  assert.match(first.text, new RegExp(`^\\[${fitted.droppedTurns} earlier turns were left out`));
  assert.ok(fitted.droppedTurns > 5);
  // Some room is left, so the next turn need not drop more and the provider's cache stays valid.
  assert.ok(historyTokens(fitted.messages) < 4_000 * 0.75);
});

Deno.test("messageTokens() overestimates prose", () => {
  const text = "The quick brown fox jumps over the lazy dog. ".repeat(20);
  assert.ok(messageTokens({ role: "user", text }) > text.length / 4);
});
