/**
 * Events and previews of a turn as updates of an editor's session: each text once, each call with
 * kind, title, status and content.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { createTurnView } from "cli/acp/turn_view.ts";
import type { TurnUpdate } from "cli/ask_turn.ts";

function preview(text: string, offset: number, id = "m"): TurnUpdate {
  const payload = { message_id: id, text, offset };
  return { type: "turn_preview", event: { turn_id: "t", kind: "text_delta", payload } };
}
function event(kind: string, payload: Record<string, unknown>): TurnUpdate {
  return { type: "turn_event", kind, payload };
}
const message = (text: string, id = "m", more = {}) =>
  event("message", { message_id: id, role: "assistant", text, ...more });
const call = (more: Record<string, unknown> = {}) =>
  event("tool_call", { call_id: "c", mcp: null, tool: "bash", arguments: {}, ...more });
const result = (more: Record<string, unknown> = {}) =>
  event("tool_result", { call_id: "c", status: "completed", text: "", duration_ms: 5, ...more });

const chunk = (text: string, messageId = "m") => ({
  sessionUpdate: "agent_message_chunk",
  messageId,
  content: { type: "text", text },
});
const thought = (text: string) => ({
  sessionUpdate: "agent_thought_chunk",
  content: { type: "text", text },
});
const started = (more = {}) => ({
  sessionUpdate: "tool_call",
  toolCallId: "1/c",
  title: "bash",
  name: "bash",
  kind: "execute",
  status: "in_progress",
  rawInput: {},
  ...more,
});
const code = (text: string) => ({ type: "content", content: { type: "text", text } });
const ended = (status: string, content: unknown[], meta = {}) => ({
  sessionUpdate: "tool_call_update",
  toolCallId: "1/c",
  status,
  content,
  _meta: { fleetctl: { status: "completed", duration_ms: 5, ...meta } },
});

const ROWS: readonly {
  readonly name: string;
  readonly news: readonly TurnUpdate[];
  readonly want: readonly unknown[];
}[] = [
  { name: "a message without previews", news: [message("hello")], want: [chunk("hello")] },
  {
    name: "previews of a whole message",
    news: [preview("a ", 0), preview("b", 2), message("a b")],
    want: [chunk("a "), chunk("b")],
  },
  {
    name: "a preview that was dropped",
    news: [preview("one ", 0), preview("three", 8), message("one two three")],
    want: [chunk("one "), chunk("two three")],
  },
  {
    name: "a message in two events",
    news: [preview("ab", 0), message("a"), message("bc")],
    want: [chunk("ab"), chunk("c")],
  },
  {
    name: "a message whose end was cut",
    news: [message("a", "m", { cut_bytes: 7 })],
    want: [chunk("a"), thought("(7 bytes cut)\n")],
  },
  {
    name: "two messages in a row, apart",
    news: [preview("", 0, "n"), message("one"), preview("two", 0, "n"), message("two", "n")],
    want: [chunk("one"), chunk("\n\ntwo", "n")],
  },
  {
    name: "a call between two messages",
    news: [message("one"), call(), result({ text: "out\n" }), message("two", "n")],
    want: [
      chunk("one"),
      started(),
      ended("completed", [code("```\nout\n```")]),
      chunk("two", "n"),
    ],
  },
  {
    name: "a call that is repeated with its arguments",
    news: [call(), call({ arguments: { command: "ls\n-l" } }), result()],
    want: [
      started(),
      {
        ...started({ title: "bash: ls ⏎ -l", rawInput: { command: "ls\n-l" } }),
        sessionUpdate: "tool_call_update",
      },
      ended("completed", []),
    ],
  },
  {
    name: "a call of an MCP",
    news: [call({ mcp: "git", tool: "git_log", arguments: { path: "/r" } })],
    want: [
      started({
        title: "git.git_log: /r",
        name: "git_log",
        kind: "read",
        rawInput: { path: "/r" },
      }),
    ],
  },
  {
    name: "an output that would end its code block, and was cut",
    news: [call(), result({ text: "a\n```\n\u001b[31mb", cut_bytes: 9 })],
    want: [
      started(),
      ended("completed", [code("````\na\n```\nb\n````\n\n(9 bytes cut)")]),
    ],
  },
  {
    name: "a denied call without a reason",
    news: [call(), result({ status: "denied" })],
    want: [started(), ended("failed", [code("```\ndenied\n```")], { status: "denied" })],
  },
  {
    name: "a notice",
    news: [event("notice", { text: "retrying" })],
    want: [thought("retrying\n")],
  },
  {
    name: "nothing for its question, its states and newer kinds",
    news: [
      event("turn_asked", { text: "hi", by: "the operator" }),
      event("turn_started", {}),
      event("quantum_state", { text: "?" }),
      event("message", { text: 5 }),
      event("turn_ended", { outcome: "completed" }),
    ],
    want: [],
  },
];
for (const { name, news, want } of ROWS) {
  Deno.test(`an editor sees ${name}`, () => {
    const view = createTurnView({ prefix: "1/", hasNotices: false });
    assert.deepEqual(news.flatMap((one) => view.take(one)), want);
  });
}

Deno.test("an editor that shows notices gets them as such", () => {
  const view = createTurnView({ prefix: "1/", hasNotices: true });
  const notice = (title: string): SessionUpdate[] => [
    { sessionUpdate: "notice", severity: "info", title },
  ];
  assert.deepEqual(view.take(event("notice", { text: "retrying" })), notice("retrying"));
  assert.deepEqual(view.note("listen", "plain"), notice("listen"));
});

Deno.test("a notice of fleetctl is a separate message", () => {
  const view = createTurnView({ prefix: "1/", hasNotices: false });
  assert.deepEqual(view.note("listen", "plain"), [chunk("listen", "1/note-1")]);
  assert.deepEqual(view.take(message("hello")), [chunk("\n\nhello")]);
});

Deno.test("openCall() finds a call by MCP, tool and arguments until its result", () => {
  const view = createTurnView({ prefix: "1/", hasNotices: false });
  const wanted = { mcp: "git", tool: "git_tag", arguments: { b: 1, a: "x" } };
  view.take(call({ ...wanted, call_id: "c1" }));
  assert.equal(view.openCall({ ...wanted, arguments: { a: "x", b: 1 } }), "1/c1");
  assert.equal(view.openCall({ ...wanted, arguments: { a: "y", b: 1 } }), undefined);
  assert.equal(view.openCall({ ...wanted, mcp: null }), undefined);
  view.take(result({ call_id: "c1" }));
  assert.equal(view.openCall(wanted), undefined);
});
