/**
 * ACP updates of all kinds of agents are converted to events, in order and within their size
 * limits.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { defined } from "core/defined.ts";
import { TURN_LIMITS } from "core/limits/turn.ts";
import { byteLength } from "core/text/cut_text.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";
import { createTranslator } from "units/dial/runtimes/acp_updates.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { SAMPLES } from "tests/support/sample_images.ts";

function translate(updates: readonly unknown[]): readonly RuntimeUpdate[] {
  const translator = createTranslator("t1", fakeClock());
  return [...updates.flatMap((update) => translator.translate(update)), ...translator.finish()];
}
const say = (text: string, messageId?: string) => ({
  sessionUpdate: "agent_message_chunk",
  content: { type: "text", text },
  ...defined({ messageId }),
});

Deno.test("translate() joins deltas into one message that ends with the turn", () => {
  assert.deepEqual(translate([say("Hel"), say("lo")]), [
    { kind: "text_delta", messageId: "t1-m1", text: "Hel" },
    { kind: "text_delta", messageId: "t1-m1", text: "lo" },
    { kind: "message", messageId: "t1-m1", text: "Hello" },
  ]);
});

Deno.test("translate() begins a new message with a new id and after a tool call", () => {
  const updates = translate([
    say("a", "x"),
    say("b", "y"),
    { sessionUpdate: "tool_call", toolCallId: "c", title: "T", rawInput: { q: 1 } },
    say("c", "y"),
    { sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed" },
  ]);
  assert.deepEqual(
    updates.filter((update) => update.kind === "message").map((update) => update.text),
    ["a", "b", "c"],
  );
});

Deno.test("translate() announces a call once, with its arguments, before its result", () => {
  const updates = translate([
    { sessionUpdate: "tool_call", toolCallId: "c1", title: "Reading", status: "pending" },
    { sessionUpdate: "tool_call_update", toolCallId: "c1", rawInput: { path: "/x" } },
    { sessionUpdate: "tool_call_update", toolCallId: "c1", status: "in_progress" },
    {
      sessionUpdate: "tool_call_update",
      toolCallId: "c1",
      status: "completed",
      content: [{ type: "content", content: { type: "text", text: "whole" } }],
    },
    { sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed" },
  ]);
  assert.deepEqual(updates, [
    { kind: "tool_call", callId: "c1", mcp: undefined, tool: "Reading", arguments: { path: "/x" } },
    {
      kind: "tool_result",
      callId: "c1",
      status: "completed",
      text: "whole",
      cutBytes: 0,
      durationMs: 0,
    },
  ]);
});

const called = (updates: readonly RuntimeUpdate[]) =>
  updates.flatMap((update) => update.kind === "tool_call" ? [update.arguments] : []);
const call = (more: Readonly<Record<string, unknown>>) => ({
  sessionUpdate: "tool_call_update",
  toolCallId: "c",
  title: "T",
  ...more,
});
const ARGUMENTS: readonly (readonly [string, readonly unknown[], readonly unknown[]])[] = [
  [
    "an empty first input is replaced",
    [
      call({ sessionUpdate: "tool_call", status: "pending", rawInput: {} }),
      call({ rawInput: { text: "a" } }),
      call({ status: "completed" }),
    ],
    [{ text: "a" }],
  ],
  [
    "a partial first input is replaced",
    [
      call({ sessionUpdate: "tool_call", status: "pending", rawInput: { cwd: "/" } }),
      call({ status: "in_progress", rawInput: { cwd: "/", command: "ls" } }),
      call({ status: "completed" }),
    ],
    [{ cwd: "/", command: "ls" }],
  ],
  [
    "a running call is announced, and again with later input",
    [
      call({ status: "in_progress", rawInput: {} }),
      call({ status: "in_progress", rawInput: { text: "a" } }),
      call({ status: "completed" }),
    ],
    [{}, { text: "a" }],
  ],
  [
    "a correction while a call runs is reported once, at its end",
    [
      call({ status: "in_progress", rawInput: { n: 1 } }),
      call({ status: "in_progress", rawInput: { n: 2 } }),
      call({ rawInput: { n: 3 } }),
      call({ status: "completed", rawInput: {} }),
    ],
    [{ n: 1 }, { n: 3 }],
  ],
  [
    "the input may arrive with the end",
    [call({ status: "pending" }), call({ status: "failed", rawInput: { text: "a" } })],
    [{ text: "a" }],
  ],
];
for (const [what, updates, wanted] of ARGUMENTS) {
  Deno.test(`translate() keeps the arguments: ${what}`, () => {
    assert.deepEqual(called(translate(updates)), wanted);
  });
}

Deno.test("translate() finds the MCP of a tool in each form of joined names", () => {
  const translator = createTranslator("t", fakeClock(), ["git", "git-hub"]);
  const names = ["mcp__git__log", "git_log", "git-hub_list", "github_list", "git_", "bash"];
  const updates = names.flatMap((title, at) =>
    translator.translate({ ...call({ status: "in_progress", title }), toolCallId: `c${at}` })
  );
  assert.deepEqual(
    updates.map((update) => update.kind === "tool_call" && [update.mcp, update.tool]),
    [
      ["git", "log"],
      ["git", "log"],
      ["git-hub", "list"],
      [undefined, "github_list"],
      [undefined, "git_"],
      [undefined, "bash"],
    ],
  );
});

Deno.test("translate() reads MCP, tool, status and duration from fleetctl's own meta", () => {
  const meta = { fleetctl: { mcp: "git", tool: "git_log" } };
  const done = { fleetctl: { mcp: "git", tool: "git_log", status: "denied", duration_ms: 12 } };
  const updates = translate([
    { sessionUpdate: "tool_call", toolCallId: "c", title: "x", status: "in_progress", _meta: meta },
    { sessionUpdate: "tool_call_update", toolCallId: "c", status: "failed", _meta: done },
  ]);
  assert.deepEqual(updates, [
    { kind: "tool_call", callId: "c", mcp: "git", tool: "git_log", arguments: {} },
    { kind: "tool_result", callId: "c", status: "denied", text: "", cutBytes: 0, durationMs: 12 },
  ]);
});

Deno.test("finish() stops calls that have no result", () => {
  const updates = translate([
    { sessionUpdate: "tool_call", toolCallId: "c", title: "x", status: "pending" },
  ]);
  assert.deepEqual(updates.map((update) => update.kind), ["tool_call", "tool_result"]);
  assert.equal(updates[1]?.kind === "tool_result" && updates[1].status, "stopped");
});

Deno.test("translate() keeps every text within its limit and states what was cut", () => {
  const long = "é".repeat(TURN_LIMITS.toolResultBytesMax);
  const updates = translate([
    say("x".repeat(TURN_LIMITS.messageBytesMax + 10)),
    { sessionUpdate: "tool_call", toolCallId: "c", title: "x", rawInput: { text: long } },
    { sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed", rawOutput: long },
  ]);
  const messages = updates.filter((update) => update.kind === "message");
  assert.equal(messages.length, 2);
  assert.ok(messages.every((each) => byteLength(each.text) <= TURN_LIMITS.messageBytesMax));
  const call = updates.find((update) => update.kind === "tool_call");
  assert.ok(byteLength(JSON.stringify(call?.arguments)) <= TURN_LIMITS.toolArgumentsBytesMax);
  const result = updates.find((update) => update.kind === "tool_result");
  assert.ok(byteLength(result?.text ?? "") <= TURN_LIMITS.toolResultBytesMax);
  assert.ok((result?.cutBytes ?? 0) > 0);
});

Deno.test("translate() splits a long text alike, in whatever pieces it arrives", () => {
  const text = "aé漢😀".repeat(TURN_LIMITS.messageBytesMax / 6);
  const messages = (updates: readonly unknown[]) =>
    translate(updates).filter((update) => update.kind === "message");
  const whole = messages([say(text)]);
  assert.equal(whole.map((message) => message.text).join(""), text);
  assert.equal(whole.length, 2);
  const sizes = fc.array(fc.integer({ min: 1, max: text.length }), { maxLength: 8 });
  fc.assert(
    fc.property(sizes, (cuts) => {
      // No cut lies within a character.
      const places = cuts.map((cut) => cut - cut % 5).toSorted((a, b) => a - b);
      const pieces = [0, ...places].map((from, n) => text.slice(from, places[n] ?? text.length));
      const updates = pieces.filter((piece) => piece !== "").map((piece) => say(piece));
      assert.deepEqual(messages(updates), whole);
    }),
    { numRuns: 5 },
  );
});

Deno.test("translate() passes notices on, and skips unknown updates", () => {
  assert.deepEqual(
    translate([
      { sessionUpdate: "notice", severity: "info", title: "Note", description: "more" },
      { sessionUpdate: "available_commands_update", availableCommands: [] },
      { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "hm" } },
      null,
      7,
      {},
      { sessionUpdate: "tool_call" },
    ]),
    [{ kind: "notice", text: "Note: more" }],
  );
});

Deno.test("translate() never throws, and answers each announced call exactly once", () => {
  const id = fc.constantFrom("a", "b");
  const status = fc.constantFrom("pending", "in_progress", "completed", "failed", 3, undefined);
  const update = fc.oneof(
    fc.record({
      sessionUpdate: fc.constantFrom("tool_call", "tool_call_update"),
      toolCallId: id,
      status,
      rawInput: fc.constantFrom(undefined, {}, { n: 1 }, { n: 2 }),
    }),
    fc.string().map((text) => say(text)),
    fc.anything(),
  );
  fc.assert(fc.property(fc.array(update), (list) => {
    const open = new Set<string>();
    const reported = new Map<string, number>();
    for (const each of translate(list)) {
      if (each.kind === "tool_call") {
        open.add(each.callId);
        reported.set(each.callId, (reported.get(each.callId) ?? 0) + 1);
      }
      if (each.kind === "tool_result") assert.ok(open.delete(each.callId));
    }
    assert.equal(open.size, 0);
    assert.ok([...reported.values()].every((times) => times <= 3));
  }));
});

Deno.test("translate() passes images of results and messages on, and states why it cannot", () => {
  const image = (data: unknown) => ({ type: "image", mimeType: "image/png", data });
  const gif = { type: "image/gif", width: 1, height: 1, bytes: 42 } as const;
  const base64 = SAMPLES.gif.toBase64();
  const rows: readonly (readonly [unknown, string, boolean])[] = [
    [image(base64), "[image 1×1 GIF, 42 B]", true],
    [
      image(SAMPLES.svg.toBase64()),
      "[image that is not shown: its content is not a PNG, JPEG, GIF or WebP image]",
      false,
    ],
    [image("%%"), "[image that is not shown: its content is not base64]", false],
    [image(undefined), "[image]", false],
    [{ type: "audio", data: "AAAA" }, "[audio]", false],
  ];
  for (const [content, shown, isImage] of rows) {
    const updates = translate([{
      sessionUpdate: "tool_call_update",
      toolCallId: "c1",
      status: "completed",
      content: [
        { type: "content", content: { type: "text", text: "see" } },
        { type: "content", content },
      ],
    }]);
    const result = updates.find((update) => update.kind === "tool_result");
    assert.equal(result?.text, `see\n${shown}`);
    const images = updates.filter((update) => update.kind === "image");
    const wanted = isImage ? [{ kind: "image", callId: "c1", image: { ...gif, base64 } }] : [];
    assert.deepEqual(images, wanted);
    assert.equal(updates.at(-1)?.kind, isImage ? "image" : "tool_result");
  }
  const chunk = { sessionUpdate: "agent_message_chunk", content: image(base64) };
  assert.deepEqual(translate([say("a"), chunk, say("b")]).map(({ kind }) => kind), [
    "text_delta",
    "message",
    "image",
    "text_delta",
    "message",
  ]);
});
