/**
 * The summary of a conversation: when it is due, what it replaces, and what its writer reads.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  callsOf,
  INTERRUPTED_TEXT,
  type Message,
  type SessionRecord,
} from "units/agent_loop/conversation/message.ts";
import {
  boundSummary,
  firstVisible,
  messagesFrom,
  planBefore,
  planSummary,
  printOlder,
  SUMMARY_BYTES_MAX,
} from "units/agent_loop/conversation/summary.ts";
import { fitHistory, historyTokens } from "units/agent_loop/conversation/window.ts";

const HEADER: SessionRecord = { type: "session", version: 1, id: "s", at: 0, cwd: "/" };
const ask = (text: string): SessionRecord => ({ type: "user", at: 1, text });
const end: SessionRecord = { type: "end", at: 1, outcome: "completed" };
const say = (text: string, ...calls: readonly string[]): SessionRecord => ({
  type: "assistant",
  at: 1,
  parts: [
    { type: "text", text },
    ...calls.map((id) => ({ type: "call" as const, call_id: id, tool: "bash", arguments: {} })),
  ],
});
const gets = (id: string, text: string): SessionRecord => ({
  type: "result",
  at: 1,
  call_id: id,
  tool: "bash",
  status: "completed",
  text,
});
const summary = (kept: number, text = "S"): Extract<SessionRecord, { type: "summary" }> => ({
  type: "summary",
  at: 1,
  id: "x",
  text,
  kept,
  by: "model",
});

const words = fc.string({ maxLength: 900, unit: "grapheme" });
const step = fc.record({ text: words, results: fc.array(words, { maxLength: 3 }) });
const turn = fc.record({
  ask: words,
  steps: fc.array(step, { maxLength: 4 }),
  isOver: fc.boolean(),
});
const session = fc.array(turn, { minLength: 1, maxLength: 6 }).map((turns) => {
  let serial = 0;
  return [
    HEADER,
    ...turns.flatMap(({ ask: text, steps, isOver }, place): SessionRecord[] => [
      ask(text),
      ...steps.flatMap(({ text, results }) => {
        const ids = results.map(() => `c${++serial}`);
        return [say(text, ...ids), ...results.map((each, at) => gets(ids[at] ?? "", each))];
      }),
      ...(isOver || place < turns.length - 1 ? [end] : []),
    ]),
  ];
});

/** A call without a result would get the text of an interruption. */
function hasSplitPair(messages: readonly Message[]): boolean {
  return messages.some((message) => message.role === "tool" && message.text === INTERRUPTED_TEXT);
}

Deno.test("planSummary() splits the records between steps, and loses none", () => {
  fc.assert(
    fc.property(session, fc.integer({ min: 300, max: 4_000 }), (records, budget) => {
      const state = { records, from: firstVisible(records), summary: undefined };
      const plan = planSummary(state, budget);
      if (plan === undefined) return;
      const newer = messagesFrom(records, plan.from);
      assert.ok(!hasSplitPair(plan.older) && !hasSplitPair(newer));
      assert.equal(newer[0]?.role, "user");
      const calls = (messages: readonly Message[]) =>
        messages.flatMap((each) => each.role === "assistant" ? callsOf(each.parts) : []);
      assert.deepEqual(
        [...calls(plan.older), ...calls(newer)],
        calls(messagesFrom(records, state.from)),
      );
    }),
  );
});

Deno.test("a stored summary leaves the same records visible after a restart", () => {
  fc.assert(
    fc.property(session, fc.integer({ min: 300, max: 4_000 }), (records, budget) => {
      const state = { records, from: firstVisible(records), summary: undefined };
      const plan = planSummary(state, budget);
      if (plan === undefined) return;
      const stored = [...records, summary(records.length - plan.from)];
      assert.equal(firstVisible(stored), plan.from);
      assert.deepEqual(messagesFrom(stored, plan.from), messagesFrom(records, plan.from));
      // The same history is not summarised again.
      const again = planSummary(
        { records: stored, from: plan.from, summary: undefined },
        budget,
      );
      assert.equal(again, undefined);
    }),
  );
});

Deno.test("planSummary() keeps the newest steps of a long turn, with the owner's message", () => {
  const steps = Array.from({ length: 10 }, (_, n) => [
    say(`step ${n}`, `c${n}`),
    gets(`c${n}`, "x".repeat(900)),
  ]).flat();
  const records = [HEADER, ask("build it"), ...steps];
  const plan = planSummary({ records, from: 1, summary: undefined }, 2_500);
  assert.ok(plan !== undefined);
  const newer = messagesFrom(records, plan.from);
  assert.deepEqual(newer[0], { role: "user", text: "build it" });
  assert.match(JSON.stringify(newer), /step 9/);
  assert.doesNotMatch(JSON.stringify(newer), /step 0/);
  assert.ok(historyTokens(newer) <= 2_500 * 0.5);
});

Deno.test("planSummary() returns undefined for one long message", () => {
  const records = [HEADER, ask("x".repeat(30_000))];
  assert.equal(planSummary({ records, from: 1, summary: undefined }, 2_000), undefined);
});

Deno.test("planBefore() returns undefined when nothing precedes the record", () => {
  const records = [HEADER, ask("hello"), end, ask("/compact")];
  const state = { records, from: 1, summary: undefined };
  assert.equal(planBefore(state, 1), undefined);
  assert.equal(planBefore(state, 3)?.older.length, 2);
});

Deno.test("printOlder() bounds the text and keeps the earlier summary whole", () => {
  const older: Message[] = [
    { role: "user", text: "find the log" },
    {
      role: "assistant",
      parts: [{ type: "call", call_id: "c", tool: "bash", arguments: { command: "ls" } }],
    },
    { role: "tool", callId: "c", tool: "bash", status: "failed", text: "y".repeat(200_000) },
  ];
  const printed = printOlder(older, {
    previous: "It is called fleet.log.",
    focus: "the name of the log",
    budgetTokens: 3_000,
  });
  assert.match(printed, /^The owner asks you to keep: the name of the log/);
  assert.match(printed, /<earlier_summary>\nIt is called fleet\.log\.\n<\/earlier_summary>/);
  assert.match(printed, /OWNER: find the log\n\nCALL bash \{"command":"ls"\}/);
  assert.match(printed, /RESULT of bash \(failed\): yyy/);
  assert.ok(printed.length <= 9_000, `${printed.length}`);
});

Deno.test("boundSummary() bounds a summary and refuses an empty one", () => {
  assert.equal(boundSummary(" \n", 10_000), undefined);
  assert.equal(boundSummary(" kept \n", 10_000), "kept");
  assert.ok((boundSummary("x".repeat(99_999), 1_000_000) ?? "").length <= SUMMARY_BYTES_MAX + 64);
  assert.ok((boundSummary("x".repeat(99_999), 1_000) ?? "").length <= 664);
});

Deno.test("fitHistory() never leaves out the summary", () => {
  const messages: Message[] = [
    { role: "user", text: "a".repeat(9_000) },
    { role: "assistant", parts: [{ type: "text", text: "b".repeat(9_000) }] },
    { role: "user", text: "and now?" },
  ];
  const fitted = fitHistory(messages, { budgetTokens: 1_000, summary: "THE SUMMARY" });
  assert.equal(fitted.droppedTurns, 1);
  const [first] = fitted.messages;
  assert.match(
    first?.role === "user" ? first.text : "",
    /THE SUMMARY[\s\S]*1 earlier turn[\s\S]*now/,
  );
});
