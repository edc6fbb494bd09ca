/**
 * The driver of command-driven runtimes against a scripted peer, written from the published
 * description of the protocol and checked once against a program that speaks it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import type { QuestionForm, QuestionReply } from "core/questions/form.ts";
import type { RuntimeUpdate, TurnOutcome } from "units/dial/runtimes/driver.ts";
import type { PermissionAsk } from "units/dial/runtimes/acp_permission.ts";
import { openDriver } from "tests/units/dial/runtimes/line_scene.ts";
import {
  type DriverScene,
  HOME,
  SESSION_FILE,
  withTime,
} from "tests/units/dial/runtimes/driver_scene.ts";
import { type JsonPeer, jsonPeer, type PeerMessage } from "tests/fakes/json_peer.ts";

const FILE = "/home/ada/sessions/1.jsonl";
const ok = (command: PeerMessage, data?: unknown) => ({
  id: command.id,
  type: "response",
  command: command.type,
  success: true,
  ...defined({ data }),
});
const refusal = (command: PeerMessage, error: string) => ({
  id: command.id,
  type: "response",
  command: command.type,
  success: false,
  error,
});
const WRITES = { type: "message_start", message: { role: "assistant", content: [] } };
const delta = (text: string) => ({
  type: "message_update",
  assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: text },
});
const BEGIN = { type: "agent_start" };
const SETTLED = { type: "agent_settled" };
const end = (stopReason: string, more: Readonly<Record<string, unknown>> = {}) => ({
  type: "agent_end",
  messages: [{ role: "user" }, { role: "assistant", content: [], stopReason, ...more }, {
    role: "toolResult",
  }],
});

/** How the peer handles a command; undefined means the protocol's default answer. */
type Script = (
  peer: JsonPeer,
  command: PeerMessage,
) => Promise<void> | readonly unknown[] | undefined;

function scene(
  script: Script,
  options: Parameters<typeof openDriver>[2] = {},
): DriverScene & { readonly peers: JsonPeer[] } {
  const peers: JsonPeer[] = [];
  const opened = openDriver("rpc_jsonl", async (call) => {
    const peer = jsonPeer(call);
    peers.push(peer);
    await peer.serve(async (command) => {
      const reply = script(peer, command);
      if (Array.isArray(reply)) await peer.say(...reply);
      else if (reply !== undefined) return await (reply as Promise<void>);
      else if (command.type === "get_state") {
        await peer.say(ok(command, { sessionFile: FILE, sessionId: "1" }));
      } else if (command.type === "switch_session") {
        await peer.say(ok(command, { cancelled: false }));
      } else await peer.say(ok(command));
    });
  }, options);
  return { ...opened, peers };
}

/** A peer that answers each prompt with these events; without any it gives the default answer. */
const answering = (...events: readonly unknown[]): Script => (_peer, command) => {
  if (command.type !== "prompt") return undefined;
  return events.length === 0
    ? [ok(command, { disposition: "handled" })]
    : [ok(command, { disposition: "started" }), ...events, SETTLED];
};

async function run(of: DriverScene) {
  const session = await of.driver.start();
  const seen: RuntimeUpdate[] = [];
  const outcome = await withTime(
    of.host,
    session.prompt({ turnId: "t", text: "go" }, (update) => {
      seen.push("durationMs" in update ? { ...update, durationMs: 0 } : update);
      return Promise.resolve();
    }),
  );
  await withTime(of.host, session.close(1_000));
  return { seen, outcome };
}

Deno.test("a turn reports its text, calls, results and answer as they come", async () => {
  const result = { content: [{ type: "text", text: "abc\n" }] };
  const call = { toolCallId: "c1", toolName: "bash" };
  const of = scene(answering(
    BEGIN,
    { type: "turn_start" },
    WRITES,
    delta("Let me "),
    delta("look."),
    { type: "tool_execution_start", ...call, args: { command: "echo abc" } },
    { type: "tool_execution_update", ...call, args: {}, partialResult: result },
    { type: "tool_execution_end", ...call, result, isError: false },
    WRITES,
    delta("It is abc."),
    delta(" Good."),
    WRITES,
    delta("More."),
    end("stop"),
  ));
  const { seen, outcome } = await run(of);
  assert.deepEqual(outcome, { outcome: "completed" });
  assert.deepEqual(seen, [
    { kind: "text_delta", messageId: "t-m1", text: "Let me " },
    { kind: "text_delta", messageId: "t-m1", text: "look." },
    { kind: "message", messageId: "t-m1", text: "Let me look." },
    {
      kind: "tool_call",
      callId: "c1",
      mcp: undefined,
      tool: "bash",
      arguments: { command: "echo abc" },
    },
    {
      kind: "tool_result",
      callId: "c1",
      status: "completed",
      text: "abc\n",
      cutBytes: 0,
      durationMs: 0,
    },
    { kind: "text_delta", messageId: "t-m2", text: "It is abc." },
    { kind: "text_delta", messageId: "t-m2", text: " Good." },
    { kind: "message", messageId: "t-m2", text: "It is abc. Good." },
    { kind: "text_delta", messageId: "t-m3", text: "More." },
    { kind: "message", messageId: "t-m3", text: "More." },
  ]);
  assert.deepEqual(
    of.peers[0]?.seen.map(({ type }) => type),
    ["get_state", "prompt"],
  );
});

const FAILED = { type: "agent_end", messages: [] };
const retry = { type: "auto_retry_start", attempt: 1, errorMessage: "529 overloaded" };
const shorten = { type: "compaction_start", reason: "overflow" };
const OUTCOMES: readonly (readonly [string, readonly unknown[], TurnOutcome])[] = [
  ["the model stops", [BEGIN, end("stop")], { outcome: "completed" }],
  ["it ends without messages", [BEGIN, FAILED], { outcome: "completed" }],
  ["a command of the program runs without the model", [], { outcome: "completed" }],
  ["it was aborted", [BEGIN, end("aborted")], { outcome: "cancelled" }],
  [
    "the output limit is reached",
    [BEGIN, end("length")],
    {
      outcome: "failed",
      code: "model-output-limit",
      reason: "The model reached its output limit before the answer was complete",
    },
  ],
  [
    "the model call fails",
    [BEGIN, end("error", { errorMessage: "401 bad key" })],
    { outcome: "failed", code: "model-unauthorized", reason: "401 bad key" },
  ],
  [
    "a retry succeeds",
    [BEGIN, end("error"), retry, BEGIN, { type: "auto_retry_end", success: true }, end("stop")],
    { outcome: "completed" },
  ],
  [
    "all retries fail",
    [
      BEGIN,
      end("error", { errorMessage: "first" }),
      retry,
      BEGIN,
      end("error", { errorMessage: "last" }),
      { type: "auto_retry_end", success: false },
    ],
    { outcome: "failed", code: "runtime-error", reason: "last" },
  ],
  [
    "the conversation is shortened afterwards",
    [BEGIN, end("stop"), shorten, { type: "compaction_end", willRetry: false }],
    { outcome: "completed" },
  ],
  [
    "the conversation is shortened and the model asked again",
    [
      BEGIN,
      end("error", { errorMessage: "too long" }),
      shorten,
      { type: "compaction_end", willRetry: true },
      BEGIN,
      end("stop"),
    ],
    { outcome: "completed" },
  ],
];
for (const [when, events, wanted] of OUTCOMES) {
  Deno.test(`the outcome when ${when}`, async () => {
    const { outcome } = await run(scene(answering(...events)));
    assert.deepEqual(outcome, wanted);
  });
}

Deno.test("a prompt that is not accepted fails the turn with the reason", async () => {
  const of = scene((peer, command) =>
    command.type === "prompt" ? peer.say(refusal(command, "already streaming")) : undefined
  );
  const { outcome } = await run(of);
  assert.deepEqual(outcome, {
    outcome: "failed",
    code: "runtime-error",
    reason: "already streaming",
  });
});

const NOTICES: readonly (readonly [unknown, string])[] = [
  [retry, "Trying again: 529 overloaded"],
  [shorten, "The runtime shortens the conversation"],
  [{ type: "extension_error", error: "boom" }, "An extension of the runtime failed: boom"],
  [{ type: "extension_ui_request", method: "notify", message: "hi" }, "hi"],
];
for (const [event, wanted] of NOTICES) {
  Deno.test(`a notice says "${wanted}"`, async () => {
    const { seen } = await run(scene(answering(BEGIN, event, BEGIN, end("stop"))));
    assert.deepEqual(seen, [{ kind: "notice", text: wanted }]);
  });
}

Deno.test("cancel() aborts", async () => {
  const of = scene((peer, command) => {
    if (command.type === "prompt") return peer.say(ok(command), BEGIN, delta("half"));
    if (command.type !== "abort") return undefined;
    return peer.say(
      end("error", { errorMessage: "This operation was aborted" }),
      SETTLED,
      ok(command),
    );
  });
  const session = await of.driver.start();
  const outcome = await session.prompt({ turnId: "t", text: "go" }, (update) => {
    if (update.kind === "text_delta") void session.cancel();
    return Promise.resolve();
  });
  assert.deepEqual(outcome, { outcome: "cancelled" });
  await withTime(of.host, session.close(1_000));
});

const DIALOGS: readonly (readonly [string, "allow" | "deny" | "fails" | undefined, unknown])[] = [
  ["confirm", "allow", { confirmed: true }],
  ["confirm", "deny", { confirmed: false }],
  ["confirm", "fails", { confirmed: false }],
  ["confirm", undefined, { confirmed: false }],
  // A dialog that has no form is cancelled, and so is a question without a person.
  ["select", "allow", { cancelled: true }],
  ["input", "allow", { cancelled: true }],
];
for (const [method, decision, wanted] of DIALOGS) {
  Deno.test(`a dialog ${method} is answered when the decision is ${decision}`, async () => {
    const question = { type: "extension_ui_request", id: "d1", method, title: "Delete it?" };
    const of = scene((peer, command) => {
      if (command.type === "prompt") return peer.say(ok(command), BEGIN, question);
      if (command.type !== "extension_ui_response") return undefined;
      assert.deepEqual(command, { type: "extension_ui_response", id: "d1", ...wanted as object });
      return peer.say(end("stop"), SETTLED);
    }, {
      ...(decision === undefined ? {} : {
        decidePermission: () =>
          decision === "fails"
            ? Promise.reject(new Error("x"))
            : Promise.resolve({ decision, reason: "no" }),
      }),
    });
    assert.equal((await run(of)).outcome.outcome, "completed");
  });
}

const CHOOSE = { type: "extension_ui_request", id: "d1", method: "select", title: "Which?" };

Deno.test("the answer to an extension's question reaches the extension", async () => {
  const forms: QuestionForm[] = [];
  const of = scene((peer, command) => {
    if (command.type === "prompt") {
      return peer.say(ok(command), BEGIN, { ...CHOOSE, options: ["Tea", "Coffee"] });
    }
    if (command.type !== "extension_ui_response") return undefined;
    assert.deepEqual(command, { type: "extension_ui_response", id: "d1", value: "Coffee" });
    return peer.say(end("stop"), SETTLED);
  }, {
    askQuestion: (form) => {
      forms.push(form);
      return Promise.resolve({ action: "accept", values: { answer: "Coffee" } });
    },
  });
  const { outcome } = await run(of);
  assert.equal(outcome.outcome, "completed");
  assert.deepEqual(forms.map(({ fields }) => fields.map(({ title }) => title)), [["Which?"]]);
});

Deno.test("a notice says why a dialog was cancelled", async () => {
  const of = scene((peer, command) => {
    if (command.type === "prompt") return peer.say(ok(command), BEGIN, CHOOSE);
    if (command.type !== "extension_ui_response") return undefined;
    assert.deepEqual(command, { type: "extension_ui_response", id: "d1", cancelled: true });
    return peer.say(end("stop"), SETTLED);
  });
  const { seen } = await run(of);
  assert.deepEqual(seen, [{
    kind: "notice",
    text: "An extension asked a question, which was cancelled: its options are unreadable",
  }]);
});

Deno.test("a dialog whose time is over withdraws its question and gets no answer", async () => {
  const asked = Promise.withResolvers<AbortSignal>();
  const of = scene((peer, command) => {
    if (command.type === "prompt") {
      return peer.say(ok(command), BEGIN, { ...CHOOSE, options: ["Tea"], timeout: 5_000 });
    }
    assert.notEqual(command.type, "extension_ui_response");
    return undefined;
  }, {
    askQuestion: (_, signal) => {
      asked.resolve(signal);
      const { promise, resolve } = Promise.withResolvers<QuestionReply>();
      signal.addEventListener("abort", () => resolve({ action: "cancel" }));
      return promise;
    },
  });
  const session = await of.driver.start();
  const turn = session.prompt({ turnId: "t", text: "go" }, () => Promise.resolve());
  const signal = await asked.promise;
  await of.host.clock.advance(5_000);
  assert.ok(signal.aborted);
  await of.peers[0]?.say(end("stop"), SETTLED);
  assert.equal((await withTime(of.host, turn)).outcome, "completed");
  await withTime(of.host, session.close(1_000));
});

const gate = (id: string, asked: unknown) => ({
  type: "extension_ui_request",
  id,
  method: "input",
  title: "fleetctl.permission",
  placeholder: typeof asked === "string" ? asked : JSON.stringify(asked),
});
const ENTRY = {
  command: "/usr/lib/fleetctl/fleetctl-mcp",
  args: ["proxy", "git", "--socket", "/run/mcp/git.sock"],
  env: {},
};
const asking = { callId: "c1", arguments: { command: "rm x" } };
const QUESTIONS: readonly (readonly [string, unknown, PermissionAsk])[] = [
  ["a tool of the program", { ...asking, tool: "bash" }, {
    ...asking,
    tool: "bash",
    title: "bash",
    act: { toolClass: "command", paths: [] },
  }],
  [
    "an MCP behind fleetctl's proxy",
    { ...asking, tool: "mcp__git__push" },
    { ...asking, mcp: "git", isProxied: true, tool: "push", title: "mcp__git__push" },
  ],
  [
    "an MCP that is not behind fleetctl's proxy",
    { ...asking, tool: "mcp__own__push" },
    { ...asking, mcp: "own", isProxied: false, tool: "push", title: "mcp__own__push" },
  ],
  ["nothing", "{", { callId: "", tool: "tool", title: "tool", arguments: undefined }],
];
for (const [what, asked, wanted] of QUESTIONS) {
  Deno.test(`fleetctl's extension asks about ${what} and gets the reason of a denial`, async () => {
    const denial = { decision: "deny", reason: "not today" } as const;
    const asks: PermissionAsk[] = [];
    const result = { content: [{ type: "text", text: "not today" }] };
    const of = scene((peer, command) => {
      if (command.type === "prompt") return peer.say(ok(command), BEGIN, gate("d1", asked));
      if (command.type !== "extension_ui_response") return undefined;
      assert.deepEqual(JSON.parse(command.value), denial);
      return peer.say(
        { type: "tool_execution_end", toolCallId: "c1", toolName: "bash", result, isError: true },
        end("stop"),
        SETTLED,
      );
    }, {
      files: {
        "/home/ada/x.json": JSON.stringify({
          projects: { [HOME]: { mcpServers: { git: ENTRY } } },
        }),
      },
      decidePermission: (ask) => {
        asks.push(ask);
        return Promise.resolve(denial);
      },
    });
    const { seen } = await run(of);
    assert.deepEqual(asks, [{ act: { toolClass: "other", paths: [] }, ...wanted }]);
    const status = seen.flatMap((update) => update.kind === "tool_result" ? [update.status] : []);
    assert.deepEqual(status, [wanted.callId === "c1" ? "denied" : "failed"]);
  });
}

Deno.test("a cancel denies what is open, and a later decision has no effect", async () => {
  const decided = Promise.withResolvers<{ decision: "allow" }>();
  const answers: unknown[] = [];
  const asked = Promise.withResolvers<void>();
  const of = scene((peer, command) => {
    if (command.type === "prompt") {
      return peer.say(ok(command), BEGIN, gate("d1", { callId: "c1", tool: "bash" }));
    }
    if (command.type !== "extension_ui_response") return undefined;
    answers.push(command.value);
    return peer.say(end("aborted"), SETTLED);
  }, {
    decidePermission: () => {
      asked.resolve();
      return decided.promise;
    },
  });
  const session = await of.driver.start();
  const turn = session.prompt({ turnId: "t", text: "go" }, () => Promise.resolve());
  await asked.promise;
  await session.cancel();
  assert.deepEqual(await turn, { outcome: "cancelled" });
  decided.resolve({ decision: "allow" });
  await withTime(of.host, session.close(1_000));
  assert.deepEqual(answers, ['{"decision":"deny","reason":"The turn was cancelled"}']);
});

Deno.test("the conversation is stored, resumed, and replaced when it is lost", async () => {
  const first = scene(answering(BEGIN, end("stop")));
  await run(first);
  const kept = first.host.files.text(SESSION_FILE) ?? "";
  assert.deepEqual(JSON.parse(kept), { runtime: "runtime-x", session_id: FILE });

  const resumed = scene(answering(BEGIN, end("stop")), { files: { [SESSION_FILE]: kept } });
  await run(resumed);
  const { id: _, ...opened } = resumed.peers[0]?.seen[0] ?? {};
  assert.deepEqual(opened, { type: "switch_session", sessionPath: FILE });

  const gone = scene((peer, command) => {
    if (command.type === "switch_session") return peer.say(refusal(command, "no such file"));
    return answering(BEGIN, end("stop"))(peer, command);
  }, { files: { [SESSION_FILE]: kept } });
  assert.equal((await run(gone)).outcome.outcome, "completed");
  assert.equal(gone.host.log.of("conversation lost")[0]?.fields.reason, "no such file");
  assert.equal(gone.host.processes.calls.length, 2);
});

Deno.test("the death of the runtime interrupts the turn with its last output", async () => {
  const of = openDriver("rpc_jsonl", async (call) => {
    const peer = jsonPeer(call);
    const dead = Promise.withResolvers<number>();
    const served = peer.serve(async (command) => {
      if (command.type === "get_state") return await peer.say(ok(command, { sessionFile: FILE }));
      await peer.say(BEGIN, delta("half an ans"));
      await call.warn("out of memory\n");
      dead.resolve(3);
    });
    // The driver releases the input of a dead program.
    served.catch(() => {});
    return await dead.promise;
  });
  const session = await of.driver.start();
  const seen: RuntimeUpdate[] = [];
  const outcome = await withTime(
    of.host,
    session.prompt({ turnId: "t", text: "go" }, (update) => {
      seen.push(update);
      return Promise.resolve();
    }),
  );
  assert.deepEqual(outcome, {
    outcome: "interrupted",
    code: "runtime-ended",
    reason:
      'The turn was interrupted: the runtime ended with exit code 3; last line: "out of memory"',
  });
  assert.deepEqual(seen.at(-1), { kind: "message", messageId: "t-m1", text: "half an ans" });
});
