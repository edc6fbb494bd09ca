/**
 * The driver of streaming JSON runtimes against a scripted peer, written from the published types
 * of the protocol and checked once against a program that speaks it.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { PermissionDecider } from "units/dial/runtimes/acp_permission.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";
import { openDriver } from "tests/units/dial/runtimes/line_scene.ts";
import {
  type DriverScene,
  HOME,
  SESSION_FILE,
  withTime,
} from "tests/units/dial/runtimes/driver_scene.ts";
import { seededRandom } from "tests/fakes/random.ts";
import { streamJson } from "units/dial/runtimes/stream_json.ts";
import { type JsonPeer, jsonPeer, type PeerMessage } from "tests/fakes/json_peer.ts";

const ID = "4d2c1a0e-0000-4000-8000-000000000001";
const common = { session_id: ID, parent_tool_use_id: null, uuid: "u" };
const event = (event: unknown) => ({ type: "stream_event", event, ...common });
const started = (id: string) => event({ type: "message_start", message: { id } });
const delta = (text: string) =>
  event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
const whole = (id: string, ...content: readonly unknown[]) => ({
  type: "assistant",
  message: { id, role: "assistant", model: "m", content },
  ...common,
});
const text = (text: string) => ({ type: "text", text });
const use = (id: string, name: string, input: unknown) => ({ type: "tool_use", id, name, input });
const toolResult = (tool_use_id: string, content: unknown, is_error = false) => ({
  type: "user",
  message: { role: "user", content: [{ type: "tool_result", tool_use_id, content, is_error }] },
  ...common,
});
const result = (more: Readonly<Record<string, unknown>> = {}) => ({
  type: "result",
  subtype: "success",
  is_error: false,
  result: "",
  stop_reason: "end_turn",
  num_turns: 1,
  session_id: ID,
  ...more,
});

type Turn = (peer: JsonPeer, message: PeerMessage) => Promise<void> | void;

/** A runtime that answers the handshake and passes turns and all other messages to the test. */
function scene(
  turn: Turn,
  options: Parameters<typeof openDriver>[2] & { other?: Turn; greet?: Turn } = {},
): DriverScene & { readonly peers: JsonPeer[] } {
  const peers: JsonPeer[] = [];
  const opened = openDriver("stream_json", async (call) => {
    const peer = jsonPeer(call);
    peers.push(peer);
    await peer.serve(async (message) => {
      if (message.type === "user") return await turn(peer, message);
      if (message.request?.subtype !== "initialize") return await options.other?.(peer, message);
      if (options.greet !== undefined) return await options.greet(peer, message);
      await peer.say(accepted(message));
    });
  }, options);
  return { ...opened, peers };
}

const accepted = (request: PeerMessage, response: unknown = {}) => ({
  type: "control_response",
  response: { subtype: "success", request_id: request.request_id, response },
});

async function run(of: DriverScene, said = "go") {
  const session = await of.driver.start();
  const seen: RuntimeUpdate[] = [];
  const outcome = await withTime(
    of.host,
    session.prompt({ turnId: "t", text: said }, (update) => {
      seen.push(update);
      return Promise.resolve();
    }),
  );
  await withTime(of.host, session.close(1_000));
  return { seen, outcome };
}

Deno.test("a turn reports its text, calls, results and answer as they come", async () => {
  const of = scene(async (peer, message) => {
    assert.deepEqual(message.message, { role: "user", content: [text("go")] });
    await peer.say(
      { type: "system", subtype: "init", session_id: ID, tools: [] },
      started("m1"),
      delta("Let me "),
      delta("look."),
      whole("m1", text("Let me look.")),
      whole("m1", use("c1", "mcp__git__git_log", { path: "/srv" })),
      toolResult("c1", [{ type: "text", text: "abc" }]),
      started("m2"),
      delta("It is abc."),
      whole("m2", text("It is abc.")),
      result({ result: "It is abc." }),
    );
  });
  const { seen, outcome } = await run(of);
  assert.deepEqual(outcome, { outcome: "completed" });
  assert.deepEqual(
    seen.map((update) => "durationMs" in update ? { ...update, durationMs: 0 } : update),
    [
      { kind: "text_delta", messageId: "t-m1", text: "Let me " },
      { kind: "text_delta", messageId: "t-m1", text: "look." },
      { kind: "message", messageId: "t-m1", text: "Let me look." },
      { kind: "tool_call", callId: "c1", mcp: "git", tool: "git_log", arguments: { path: "/srv" } },
      {
        kind: "tool_result",
        callId: "c1",
        status: "completed",
        text: "abc",
        cutBytes: 0,
        durationMs: 0,
      },
      { kind: "text_delta", messageId: "t-m2", text: "It is abc." },
      { kind: "message", messageId: "t-m2", text: "It is abc." },
    ],
  );
});

const texts = (seen: readonly RuntimeUpdate[]) =>
  seen.flatMap((update) => update.kind === "message" ? [update.text] : []);

const TEXT_ROWS: readonly (readonly [string, readonly unknown[], readonly string[]])[] = [
  ["a whole message without deltas", [whole("m", text("a")), result()], ["a"]],
  ["an answer without the model", [result({ result: "12 commands" })], ["12 commands"]],
  [
    "sub-agents",
    [
      { ...whole("s", text("inner")), parent_tool_use_id: "c" },
      { ...delta("inner"), parent_tool_use_id: "c" },
      whole("m", text("outer")),
      result(),
    ],
    ["outer"],
  ],
  [
    "a line that is not a message",
    [null, 7, { type: "what" }, { type: "stream_event" }, { type: "assistant", message: 3 }, {
      type: "user",
      message: { content: "[interrupted]" },
    }, result()],
    [],
  ],
  ["two messages", [whole("m", text("a")), whole("n", text("b")), result()], ["a", "b"]],
];
for (const [what, messages, wanted] of TEXT_ROWS) {
  Deno.test(`text of ${what}`, async () => {
    const { seen, outcome } = await run(scene((peer) => peer.say(...messages)));
    assert.deepEqual(texts(seen), wanted);
    assert.equal(outcome.outcome, "completed");
  });
}

const NOTICES: readonly (readonly [unknown, string])[] = [
  [{ type: "system", subtype: "api_retry", error: "overloaded" }, "Trying again: overloaded"],
  [{ type: "system", subtype: "compact_boundary" }, "The runtime shortened the conversation"],
];
for (const [message, wanted] of NOTICES) {
  Deno.test(`a notice says "${wanted}"`, async () => {
    const { seen } = await run(scene((peer) => peer.say(message, result())));
    assert.deepEqual(seen, [{ kind: "notice", text: wanted }]);
  });
}

const OUTCOMES: readonly (readonly [Readonly<Record<string, unknown>>, string, string])[] = [
  [{ stop_reason: "max_tokens" }, "model-output-limit", "output limit"],
  [{ stop_reason: "refusal" }, "model-refusal", "refused"],
  [{ is_error: true, result: "API Error: 401 bad" }, "model-unauthorized", "API Error: 401 bad"],
  [{ is_error: true, result: "Please run /login" }, "model-unauthorized", "Please run /login"],
  [{ is_error: true, result: "API Error: 500 bad" }, "runtime-error", "API Error: 500 bad"],
  [{ subtype: "error_max_turns", is_error: true }, "steps-exhausted", "error_max_turns"],
  [{ subtype: "error_max_budget_usd" }, "budget-exhausted", "error_max_budget_usd"],
  [{ subtype: "error_during_execution", errors: ["a", "b"] }, "runtime-error", "a; b"],
  [{ subtype: 3 }, "runtime-error", "without a reason"],
];
for (const [more, code, reason] of OUTCOMES) {
  Deno.test(`a result ${JSON.stringify(more)} fails the turn as ${code}`, async () => {
    const { outcome } = await run(scene((peer) => peer.say(result(more))));
    assert.deepEqual([outcome.outcome, outcome.code], ["failed", code]);
    assert.ok(outcome.reason?.includes(reason), String(outcome.reason));
  });
}

const ask = {
  type: "control_request",
  request_id: "q1",
  request: {
    subtype: "can_use_tool",
    tool_name: "Bash",
    tool_use_id: "c1",
    title: "run rm",
    input: { command: "rm x" },
  },
};
const DECISIONS: readonly (readonly [string, PermissionDecider, unknown, string])[] = [
  [
    "allowed",
    () => Promise.resolve({ decision: "allow" }),
    { behavior: "allow", updatedInput: { command: "rm x" } },
    "completed",
  ],
  [
    "denied",
    () => Promise.resolve({ decision: "deny", reason: "not on a Friday" }),
    { behavior: "deny", message: "not on a Friday" },
    "denied",
  ],
  [
    "denied when deciding fails",
    () => Promise.reject(new Error("x")),
    {
      behavior: "deny",
      message: 'Cannot call tool "Bash": the request could not be decided',
    },
    "denied",
  ],
];
for (const [what, decidePermission, wanted, status] of DECISIONS) {
  Deno.test(`a permission request is ${what}, once`, async () => {
    let answer: PeerMessage;
    const of = scene(
      (peer) => peer.say(whole("m", use("c1", "Bash", { command: "rm x" })), ask),
      {
        decidePermission,
        other: async (peer, message) => {
          answer = message;
          const failed = message.response.response.behavior === "deny";
          await peer.say(toolResult("c1", "out", failed), result());
        },
      },
    );
    const { seen } = await run(of);
    assert.deepEqual(answer.response, { request_id: "q1", subtype: "success", response: wanted });
    const got = seen.find((update) => update.kind === "tool_result");
    assert.equal(got?.kind === "tool_result" && got.status, status);
  });
}

Deno.test("without a decider a permission request is denied", async () => {
  const answers: PeerMessage[] = [];
  const of = scene((peer) => peer.say(ask), {
    other: async (peer, message) => {
      answers.push(message.response.response.behavior);
      await peer.say(result());
    },
  });
  await run(of);
  assert.deepEqual(answers, ["deny"]);
});

Deno.test("a withdrawn question is not answered; others are refused", async () => {
  const decided = Promise.withResolvers<{ decision: "allow" }>();
  let withdrawn: AbortSignal | undefined;
  const of = scene(
    (peer) =>
      peer.say(
        ask,
        { type: "control_cancel_request", request_id: "q1" },
        { type: "control_request", request_id: "q2", request: { subtype: "elicitation" } },
      ),
    {
      decidePermission: (_, signal) => {
        withdrawn = signal;
        return decided.promise;
      },
      other: async (peer, message) => {
        assert.equal(message.response.request_id, "q2");
        assert.equal(withdrawn?.aborted, true, "the question is withdrawn");
        assert.equal(message.response.subtype, "error");
        decided.resolve({ decision: "allow" });
        await peer.say(result());
      },
    },
  );
  await run(of);
  assert.equal(of.peers[0]?.seen.filter(({ type }) => type === "control_response").length, 1);
});

Deno.test("cancel() interrupts: the turn is cancelled, whatever the runtime says", async () => {
  const of = scene((peer) => peer.say(started("m"), delta("half")), {
    other: async (peer, message) => {
      assert.equal(message.request.subtype, "interrupt");
      await peer.say(
        accepted(message),
        { type: "user", message: { role: "user", content: [text("[interrupted]")] }, ...common },
        result({ subtype: "error_during_execution", is_error: true, errors: ["[internal]"] }),
      );
    },
  });
  const session = await of.driver.start();
  const seen: RuntimeUpdate[] = [];
  const outcome = await session.prompt({ turnId: "t", text: "go" }, (update) => {
    seen.push(update);
    if (update.kind === "text_delta") void session.cancel();
    return Promise.resolve();
  });
  assert.deepEqual(outcome, { outcome: "cancelled" });
  assert.deepEqual(texts(seen), ["half"]);
  await withTime(of.host, session.close(1_000));
});

const MCP_FILE = `${HOME}/.fleetctl/dial/mcp.json`;
const STRICT = ["--mcp-config", MCP_FILE, "--strict-mcp-config"];

Deno.test("the program gets its MCPs by a file, and may call proxied ones", async () => {
  const proxy = "/usr/lib/fleetctl/fleetctl-mcp";
  const git = { command: proxy, args: ["proxy", "git", "--socket", "/run/mcp/git-ada.sock"] };
  const proxied = (name: string) => ({
    command: proxy,
    args: ["proxy", name, "--socket", `/run/mcp/${name}.sock`],
    env: {
      FLEETCTL_ROOT: "/",
      FLEETCTL_AGENT: "ada",
      FLEETCTL_PERMISSIONS: "/var/lib/fleetctl/permissions/agent-ada.json",
    },
  });
  const config = {
    mcpServers: { other: { command: "elsewhere" } },
    projects: {
      [HOME]: {
        mcpServers: {
          git: { ...git, exposure: "direct" },
          pages: { type: "http", url: "https://pages.example/mcp" },
          own: { command: "/opt/own", env: { A: "b" } },
          // This entry has a known name but does not start fleetctl's proxy.
          tracker: git,
          // These start fleetctl's proxy, but with settings that could select another gate.
          rooted: { ...proxied("rooted"), env: { FLEETCTL_ROOT: "/home/ada/x" } },
          loaded: { ...proxied("loaded"), env: { LD_PRELOAD: "/home/ada/x.so" } },
          wired: { command: proxy, args: ["proxy", "wired", "--socket", "/home/ada/x.sock"] },
          notes: proxied("notes"),
          // Could pass for tools of git.
          git__x: { command: "/opt/own" },
          git_: { command: "/opt/own" },
          off: { command: "/opt/off", disabled: true },
          odd: { command: 3 },
        },
      },
    },
  };
  const files = { [`${HOME}/x.json`]: JSON.stringify(config) };
  const other: Turn = (peer, message) => peer.say(accepted(message, { mcpServers: [] }));
  const of = scene((peer) => peer.say(result()), { files, other });
  await run(of);
  assert.deepEqual(of.host.processes.calls.map(({ args }) => args), [
    ["-p", ...STRICT, "--allowedTools", "mcp__git,mcp__notes"],
  ]);
  assert.deepEqual(JSON.parse(await of.host.files.readText(MCP_FILE) ?? ""), {
    mcpServers: {
      git: { ...git, env: {} },
      pages: { type: "http", url: "https://pages.example/mcp", headers: {} },
      own: { command: "/opt/own", args: [], env: { A: "b" } },
      tracker: { ...git, env: {} },
      rooted: { ...proxied("rooted"), env: { FLEETCTL_ROOT: "/home/ada/x" } },
      loaded: { ...proxied("loaded"), env: { LD_PRELOAD: "/home/ada/x.so" } },
      wired: { command: proxy, args: ["proxy", "wired", "--socket", "/home/ada/x.sock"], env: {} },
      notes: proxied("notes"),
    },
  });
});

Deno.test("a program with MCPs from its host gets none from fleetctl", () => {
  const { mcpArgs } = streamJson(seededRandom());
  assert.ok(mcpArgs !== undefined);
  for (const args of [["--mcp-config", "/etc/x.json"], ["-p", "--mcp-config=/etc/x.json"]]) {
    assert.deepEqual(mcpArgs({ args, file: MCP_FILE }, []), []);
  }
  assert.deepEqual(mcpArgs({ args: ["--mcp-configured"], file: MCP_FILE }, []), STRICT);
});

Deno.test("a permission request about a tool names its MCP and who decides", async () => {
  const proxy = "/usr/lib/fleetctl/fleetctl-mcp";
  const entries = {
    git: { command: proxy, args: ["proxy", "git", "--socket", "/run/mcp/git-ada.sock"] },
    pages: { type: "http", url: "https://pages.example/mcp" },
  };
  const asks: unknown[] = [];
  const asking = (name: string) => ({
    type: "control_request",
    request_id: name,
    request: { subtype: "can_use_tool", tool_name: name, tool_use_id: name, input: {} },
  });
  const names = ["mcp__git__git_push", "mcp__pages__wipe", "Bash", "mcp__git__x__y"];
  const of = scene((peer) => peer.say(...names.map((name) => asking(name))), {
    files: {
      [`${HOME}/x.json`]: JSON.stringify({ projects: { [HOME]: { mcpServers: entries } } }),
    },
    other: async (peer, message) => {
      if (message.type === "control_request") {
        return await peer.say(accepted(message, { mcpServers: [] }));
      }
      if (asks.length === names.length) await peer.say(result());
    },
    decidePermission: ({ mcp, isProxied, tool }) => {
      asks.push([mcp, isProxied, tool]);
      return Promise.resolve({ decision: "allow" });
    },
  });
  await run(of);
  assert.deepEqual(asks, [
    ["git", true, "git_push"],
    ["pages", false, "wipe"],
    [undefined, undefined, "Bash"],
    ["git", false, "x__y"],
  ]);
});

for (const text of ["[]", "{", '{"projects":{"/home/ada":{"mcpServers":[]}}}']) {
  Deno.test(`a client config ${text} is logged, and the program has no MCPs`, async () => {
    const of = scene((peer) => peer.say(result()), { files: { [`${HOME}/x.json`]: text } });
    await run(of);
    const file = await of.host.files.readText(MCP_FILE);
    assert.deepEqual(JSON.parse(file ?? ""), { mcpServers: {} });
    assert.equal(of.host.log.of("client config not used").length, 1);
  });
}

Deno.test("the conversation is stored, resumed, and replaced when it is lost", async () => {
  const say = (peer: JsonPeer) => peer.say(result());
  const first = scene(say);
  await run(first);
  const kept = await first.host.files.readText(SESSION_FILE);
  assert.deepEqual(JSON.parse(kept ?? ""), { runtime: "runtime-x", session_id: ID });

  const resumed = scene(say, { files: { [SESSION_FILE]: kept ?? "" } });
  await run(resumed);
  assert.deepEqual(resumed.host.processes.calls.map(({ args }) => args), [
    ["-p", ...STRICT, "--resume", ID],
  ]);

  const gone = scene(say, {
    files: { [SESSION_FILE]: kept ?? "" },
    greet: async (peer, message) => {
      await peer.say(
        gone.peers.length > 1
          ? accepted(message)
          : result({ subtype: "error_during_execution", errors: ["No conversation found"] }),
      );
    },
  });
  await run(gone);
  assert.deepEqual(gone.host.processes.calls.map(({ args }) => args), [
    ["-p", ...STRICT, "--resume", ID],
    ["-p", ...STRICT],
  ]);
  assert.ok(gone.host.log.of("conversation lost").length === 1);
});

Deno.test("start() drops a conversation only when the runtime does not know it", async () => {
  const stored = JSON.stringify({ runtime: "runtime-x", session_id: ID });
  const of = openDriver("stream_json", () => 3, { files: { [SESSION_FILE]: stored } });
  await assert.rejects(
    withTime(of.host, of.driver.start()),
    /Cannot start runtime "runtime-x": the runtime ended with exit code 3/,
  );
  assert.equal(of.host.processes.calls.length, 1);
  assert.equal(await of.host.files.readText(SESSION_FILE), stored);
  assert.equal(of.host.processes.calls[0]?.env.HOME, HOME);
});
