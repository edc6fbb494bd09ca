/**
 * The view built from events: turns, folded calls, messages through channels, ends.
 *
 * @module
 */

import assert from "node:assert/strict";
import { toolSort, toolTarget } from "core/text/tool_call.ts";
import { runningTurn, turnsOf } from "gateway/web/state/turns.ts";
import { foldEnd, foldWords, formatDuration } from "gateway/web/state/tool_words.ts";
import type { WireEvent } from "gateway/web/state/wire.ts";

let seq = 0;
function event(kind: string, payload: Record<string, unknown> = {}, turnId: string | null = "t") {
  return { seq: ++seq, agent: "ada", turnId, at: 1, kind, payload } satisfies WireEvent;
}
function call(tool: string, id: string, more: Record<string, unknown> = {}): WireEvent {
  return event("tool_call", { call_id: id, mcp: null, tool, arguments: {}, ...more });
}
function result(id: string, status = "completed"): WireEvent {
  return event("tool_result", { call_id: id, status, text: "ok", duration_ms: 5 });
}
const asked = () => event("turn_queued", { text: "hi", origin: "owner:ada@example.org" });

Deno.test("turnsOf() follows a turn from sent to its end", () => {
  const queued = asked();
  const steps: readonly [WireEvent, string][] = [
    [queued, "sent"],
    [event("turn_delivered"), "delivered"],
    [event("turn_started"), "working"],
    [event("turn_ended", { outcome: "failed", code: "c", reason: "why" }), "ended"],
  ];
  const so: WireEvent[] = [];
  for (const [next, state] of steps) {
    so.push(next);
    assert.equal(turnsOf(so)[0]?.state, state);
  }
  assert.deepEqual(turnsOf(so)[0]?.outcome, { outcome: "failed", code: "c", reason: "why" });
  assert.equal(turnsOf(so)[0]?.ask?.isOwner, true);
});

Deno.test("turnsOf() shows a turn from the agent's host as reported by the agent", () => {
  const by = "the operator";
  const begun = event("turn_asked", { text: "hi", by });
  const [turn] = turnsOf([begun]);
  assert.deepEqual(turn?.ask, { text: "hi", from: `${by} (on its host)`, isOwner: false });
  assert.equal(turn?.state, "delivered");
  assert.equal(turnsOf([begun, event("turn_started")])[0]?.state, "working");
});

Deno.test("an agent's report does not replace the question that the gateway knows", () => {
  const forged = event("turn_asked", { text: "delete all", by: "root" });
  for (const events of [[asked(), forged], [forged, asked()]]) {
    const [turn] = turnsOf(events);
    assert.deepEqual(turn?.ask, { text: "hi", from: "ada@example.org", isOwner: true });
  }
});

Deno.test("turnsOf() keeps the object of a turn that has not changed", () => {
  const events = [asked(), event("turn_queued", { text: "b", origin: "agent:bob" }, "u")];
  const before = turnsOf(events);
  const after = turnsOf([...events, event("turn_started")], before);
  assert.notEqual(after[0], before[0]);
  assert.equal(after[1], before[1]);
  assert.deepEqual(after[1]?.ask, { text: "b", from: "bob", isOwner: false });
});

Deno.test("three calls in a row fold, two do not, and a message ends a row", () => {
  const three = turnsOf([asked(), call("read", "a"), call("bash", "b"), call("bash", "c")]);
  assert.deepEqual(three[0]?.steps.map(({ kind }) => kind), ["fold"]);
  const two = turnsOf([
    asked(),
    call("read", "a"),
    call("bash", "b"),
    event("message", { text: "x" }),
    call("bash", "c"),
  ]);
  assert.deepEqual(two[0]?.steps.map(({ kind }) => kind), ["tool", "tool", "message", "tool"]);
});

Deno.test("a call that is reported again stays one call, with its last arguments", () => {
  const [turn] = turnsOf([
    asked(),
    call("read", "a"),
    event("message", { text: "x" }),
    call("bash", "b"),
    call("read", "a", { arguments: { path: "/x" } }),
    result("a"),
  ]);
  const steps = turn?.steps ?? [];
  assert.deepEqual(steps.map(({ kind }) => kind), ["tool", "message", "tool"]);
  const [first] = steps;
  assert.ok(first?.kind === "tool" && first.status === "completed");
  assert.deepEqual([first.tool, first.arguments], ["read", { path: "/x" }]);
});

Deno.test("a call finds its result, and one without is stopped when the turn is over", () => {
  const [turn] = turnsOf([
    asked(),
    call("bash", "a"),
    call("bash", "b"),
    result("a", "denied"),
    event("turn_ended", { outcome: "cancelled" }),
  ]);
  const status = turn?.steps.map((step) => step.kind === "tool" ? step.status : "");
  assert.deepEqual(status, ["denied", "stopped"]);
});

Deno.test("send_message of an MCP is a bubble; of a built-in tool or empty it is not", () => {
  const sent = { arguments: { to: "Mia", text: "hello" } };
  const kinds = turnsOf([
    call("send_message", "a", { mcp: "teams", ...sent }),
    event("message", { text: "x" }),
    call("send_message", "b", sent),
    event("message", { text: "x" }),
    call("send_message", "c", { mcp: "teams" }),
  ])[0]?.steps.map(({ kind }) => kind);
  assert.deepEqual(kinds, ["sent", "message", "tool", "message", "tool"]);
});

Deno.test("a question is one step with its answer and its end", () => {
  const form = {
    mcp: "hub",
    message: "Which?",
    fields: [{
      name: "c",
      title: "Colour",
      kind: "choice",
      required: true,
      options: [{ value: "b", label: "Blue" }],
    }],
  };
  const about = (kind: string, payload: Record<string, unknown> = {}, turn: string | null = "t") =>
    event(`question_${kind}`, { question_id: "q", ...payload }, turn);
  const by = "owner:ada@example.org";
  const answer = { action: "answered", values: { c: "b" }, by, surface: "page" };
  for (
    const [more, state, rows, who] of [
      [[], "asked", [], ""],
      [["answered", answer], "answered", [{ title: "Colour", text: "Blue" }], "ada@example.org"],
      [["answered", { action: "declined", by: "the operator" }], "declined", [], "the operator"],
      [["ended", { state: "expired" }], "expired", [], ""],
      [["ended", { state: "withdrawn" }], "withdrawn", [], ""],
    ] as const
  ) {
    const [kind, payload] = more;
    for (const turn of ["t", null]) {
      const first = about("asked", form, turn);
      const later = kind === undefined ? [] : [about(kind, payload, turn)];
      const [shown, ...others] = turnsOf([first, ...later]);
      assert.deepEqual(others, []);
      const [step] = shown?.steps ?? [];
      assert.ok(step?.kind === "question" && shown?.steps.length === 1);
      assert.deepEqual([step.state, step.rows, step.by], [state, rows, who]);
    }
  }
  // Its beginning is not in the window.
  assert.deepEqual(turnsOf([about("answered", answer, null)]), []);
});

Deno.test("events without a turn are asides, and unknown kinds are skipped", () => {
  const turns = turnsOf([
    event("notice", { text: "n" }, null),
    event("agent_state", { state: "idle" }, null),
    event("agent_state", { state: "failed", reason: "r" }, null),
    event("from_the_future", {}, null),
  ]);
  assert.deepEqual(turns.map(({ kind }) => kind), ["aside", "aside"]);
});

Deno.test("the tokens of a turn are no step of it", () => {
  const models = [{ model: "m", input_tokens: 1, output_tokens: 1 }];
  const [turn] = turnsOf([asked(), event("usage", { models }), event("turn_ended")]);
  assert.deepEqual(turn?.steps, []);
  assert.equal(turn?.state, "ended");
});

Deno.test("payloads of the wrong shape never throw", () => {
  for (
    const kind of ["turn_queued", "message", "tool_call", "tool_result", "turn_ended", "notice"]
  ) {
    for (const payload of [{}, { text: 1, call_id: {}, tool: [], arguments: null, outcome: 3 }]) {
      assert.equal(turnsOf([event(kind, payload)]).length, 1);
    }
  }
});

Deno.test("runningTurn() is the one that works, else the first that waits", () => {
  const waits = event("turn_queued", { text: "b", origin: "owner:x" }, "u");
  const works = [asked(), event("turn_started")];
  assert.equal(runningTurn(turnsOf([waits, ...works]))?.turnId, "t");
  assert.equal(runningTurn(turnsOf([waits]))?.turnId, "u");
  assert.equal(runningTurn(turnsOf([...works, event("turn_ended", {})])), undefined);
});

Deno.test("the line of a call names the tool, its subject and its duration", () => {
  assert.equal(toolSort("git_log"), "read");
  assert.equal(toolSort("bash"), "run");
  assert.equal(toolSort("strange"), "other");
  assert.equal(toolTarget({ arguments: { limit: 1, path: "/a\n\u001b[31mb" } }), "/a ⏎ b");
  assert.equal(toolTarget({ arguments: "text" }), "");
  assert.equal(toolTarget({ arguments: { command: "x".repeat(1_000_000) } }).length, 121);
  assert.deepEqual([0, 999, 1_500, 61_000, 7_260_000].map(formatDuration), [
    "1 ms",
    "999 ms",
    "1.5 s",
    "1 min 1 s",
    "2 h 1 min",
  ]);
  const tools = turnsOf([asked(), call("bash", "a"), call("read", "b"), call("bash", "c")]);
  const fold = tools[0]?.steps[0];
  assert.ok(fold?.kind === "fold");
  assert.equal(foldWords(fold.tools), "Ran 2 commands, read 1 thing");
});

Deno.test("a cut turn works until its end is seen; a turn without its end has ended", () => {
  const question = event("turn_asked", { text: "go", by: "root" }, "c");
  const step = event("tool_call", { call_id: "a", mcp: null, tool: "bash", arguments: {} }, "c");
  const counts = { events: 9, calls: 9, messages: 0, notices: 0, failed: 0 };
  const cut = { turnId: "c", before: step.seq, counts, phase: "idle" as const };
  const cuts = new Map([["c", cut]]);
  const [before] = turnsOf([question, step], [], { cuts });
  assert.deepEqual([before?.state, before?.cut, before?.ask?.text], ["working", cut, "go"]);
  const loading = new Map([["c", { ...cut, phase: "loading" as const }]]);
  const [after] = turnsOf([question, step], before === undefined ? [] : [before], {
    cuts: loading,
  });
  assert.notEqual(after, before, "it is drawn again");
  const [torn] = turnsOf([question, step], [], { endDropped: new Set(["c"]) });
  assert.deepEqual([torn?.state, torn?.outcome], ["ended", undefined]);
});

Deno.test("a fold keeps its identity when calls are added at either end", () => {
  const question = asked();
  const calls = ["a", "b", "c", "d", "e"].map((id) => call("bash", id));
  const keys = [calls.slice(1), calls, calls.slice(1, 4)].map((some) =>
    turnsOf([question, ...some])[0]?.steps.map(({ key }) => key)
  );
  assert.deepEqual(keys[1], keys[0]);
  assert.deepEqual(keys[2], keys[0]);
});

Deno.test("a summary is a step, which only the default conversation can edit", () => {
  const summary = () => event("summary", { summary_id: "s", text: "S", by: "owner", cut_bytes: 0 });
  const step = { kind: "summary", text: "S", isByOwner: true };
  const [own] = turnsOf([asked(), summary()]);
  const { key: _, ...shown } = own?.steps[0] ?? {};
  assert.deepEqual(shown, { ...step, isEditable: true });
  const elsewhere = event("turn_asked", { text: "hi", by: "root", conversation: "trip" });
  const [other] = turnsOf([elsewhere, summary()]);
  const { key: __, ...otherShown } = other?.steps[0] ?? {};
  assert.deepEqual(otherShown, { ...step, isEditable: false });
});

Deno.test("the last todo list of a turn is shown, and an empty one removes it", () => {
  const plan = (...entries: readonly unknown[]) => event("plan", { entries });
  const first = plan({ text: "a", state: "active" });
  const steps = (...events: WireEvent[]) => turnsOf([asked(), ...events])[0]?.steps;
  assert.deepEqual(steps(first, plan({ text: "a", state: "done" }, { text: "b", state: "?" })), [{
    kind: "plan",
    key: "plan",
    entries: [{ text: "a", state: "done" }, { text: "b", state: "pending" }],
  }]);
  assert.deepEqual(steps(first, plan()), []);
});

Deno.test("turnsOf() shows the agent's failure beside turns, but not during one", () => {
  const failed = () => event("agent_state", { state: "failed", reason: "killed" }, null);
  const during = [asked(), event("turn_started"), failed(), event("turn_ended"), failed()];
  assert.deepEqual(turnsOf(during).map(({ kind }) => kind), ["turn", "aside"]);
  assert.deepEqual(turnsOf([failed()])[0]?.steps.map((step) => "text" in step && step.text), [
    "The agent failed: killed",
  ]);
});

Deno.test("foldEnd() names calls that failed or were stopped", () => {
  const rows = [
    [["completed", "completed"], "done"],
    [["completed", "stopped"], "1 stopped"],
    [["denied", "stopped", "failed"], "2 failed"],
  ] as const;
  for (const [states, words] of rows) {
    assert.equal(foldEnd(states.map((status) => ({ status }))).words, words);
  }
});
