/**
 * The driver of `codex app-server` against a scripted peer. Covers what the recording lacks, such
 * as refusals, ambiguous questions, and late answers.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { PermissionAsk } from "units/dial/runtimes/acp_permission.ts";
import type { PeerMessage } from "tests/fakes/json_peer.ts";
import {
  answering,
  codexScene,
  type CodexScript,
  ended,
  item,
  note,
  OPENED,
  promptIn,
  runTurn,
  STARTED,
  TAKEN,
  THREAD,
  TURN,
} from "tests/units/dial/runtimes/codex_scene.ts";
import { SESSION_FILE, withTime } from "tests/units/dial/runtimes/driver_scene.ts";

const ENTRY = {
  command: "/usr/lib/fleetctl/fleetctl-mcp",
  args: ["proxy", "git", "--url"],
  env: {},
};
const CONFIG = {
  "/home/ada/.fleetctl/mcp.json": JSON.stringify({
    mcpServers: {
      git: ENTRY,
      web: { type: "http", url: "https://x.example", headers: { a: "b" } },
    },
  }),
};
const READY = ["git", "web"].map((name) =>
  note("mcpServer/startupStatus/updated", { name, status: "ready" })
);
const sentBy = (seen: readonly PeerMessage[], method: string) =>
  seen.filter((message) => message.method === method);

Deno.test("a thread is started and resumed with policy, sandbox and MCPs", async () => {
  const script: CodexScript = (peer, message) =>
    message.method?.startsWith("thread/")
      ? peer.say({ id: message.id, result: OPENED }, ...READY)
      : answering()(peer, message);
  const first = codexScene(script, { files: CONFIG });
  await runTurn(first);
  const [{ params: begun }] = sentBy(first.peers[0]?.seen ?? [], "thread/start");
  const common = {
    startup_timeout_sec: 20,
    tool_timeout_sec: 604_800,
    supports_parallel_tool_calls: true,
  };
  assert.deepEqual(begun, {
    cwd: "/home/ada",
    approvalPolicy: "untrusted",
    approvalsReviewer: "user",
    sandbox: "danger-full-access",
    config: {
      projects: { "/home/ada": { trust_level: "untrusted" } },
      features: {
        unified_exec_tty: false,
        multi_agent: false,
        goals: false,
        plugins: false,
        apps: false,
      },
      mcp_servers: {
        git: { ...ENTRY, ...common, default_tools_approval_mode: "approve" },
        web: {
          url: "https://x.example",
          http_headers: { a: "b" },
          ...common,
          default_tools_approval_mode: "prompt",
        },
      },
    },
  });
  const kept = first.host.files.text(SESSION_FILE) ?? "";
  assert.deepEqual(JSON.parse(kept), { runtime: "codex", session_id: THREAD });

  const second = codexScene(script, { files: { ...CONFIG, [SESSION_FILE]: kept } });
  await runTurn(second);
  const [{ params: resumed }] = sentBy(second.peers[0]?.seen ?? [], "thread/resume");
  assert.deepEqual(resumed, { threadId: THREAD, excludeTurns: true, ...begun });
});

Deno.test("a lost thread is replaced; after another refusal the thread is kept", async () => {
  const files = { [SESSION_FILE]: JSON.stringify({ runtime: "codex", session_id: THREAD }) };
  const refusing = (message: string): CodexScript => (peer, { id, method }) =>
    method === "thread/resume"
      ? peer.say({ id, error: { code: -32600, message } })
      : answering()(peer, { id, method });
  const gone = codexScene(refusing(`no rollout found for thread id ${THREAD}`), { files });
  assert.equal((await runTurn(gone)).outcome.outcome, "completed");
  assert.equal(gone.host.log.of("conversation lost").length, 1);
  const busy = codexScene(refusing("the disk is full"), { files });
  await assert.rejects(withTime(busy.host, busy.driver.start()), /the disk is full/);
  assert.equal(busy.host.files.text(SESSION_FILE), files[SESSION_FILE]);
});

const LOOSER: readonly (readonly [Readonly<Record<string, unknown>>, RegExp])[] = [
  [{ approvalPolicy: "never" }, /does not accept approvalPolicy "untrusted"/],
  [{ approvalPolicy: undefined }, /does not accept approvalPolicy "untrusted"/],
  [{ approvalsReviewer: "auto_review" }, /does not accept approvalsReviewer "user"/],
  [{ sandbox: { type: "readOnly" } }, /does not accept the mode "danger-full-access"/],
  [{ thread: {} }, /reports no thread/],
];
for (const [opened, why] of LOOSER) {
  Deno.test(`a program that answers ${JSON.stringify(opened)} is not started`, async () => {
    const of = codexScene((peer, { id, method }) =>
      method === "thread/start" ? peer.say({ id, result: { ...OPENED, ...opened } }) : undefined
    );
    await assert.rejects(withTime(of.host, of.driver.start()), why);
  });
}

const COMMAND = { type: "commandExecution", id: "c1", command: "rm x", cwd: "/w" };
const CHANGE = { type: "fileChange", id: "c1", changes: [{ path: "/w/a", diff: "+a" }] };
const CALL = {
  type: "mcpToolCall",
  id: "c1",
  server: "web",
  tool: "get",
  arguments: { b: 1, a: 2 },
};
const approval = (fields: Readonly<Record<string, unknown>> = {}) => ({
  serverName: "web",
  message: "Allow?",
  mode: "form",
  _meta: {
    codex_approval_kind: "mcp_tool_call",
    tool_name: "get",
    tool_params: { a: 2, b: 1 },
    ...fields,
  },
});
type Decision = "allow" | "deny" | "fails" | undefined;
interface Row {
  readonly what: string;
  readonly begun?: Readonly<Record<string, unknown>>;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly decision?: Decision;
  readonly answer: Readonly<Record<string, unknown>>;
  readonly asked?: Partial<PermissionAsk>;
  readonly notice?: string;
}
const RUN = "item/commandExecution/requestApproval";
const EDIT = "item/fileChange/requestApproval";
const ELICIT = "mcpServer/elicitation/request";
const shown = { tool: "exec_command", arguments: { command: "rm x", cwd: "/w" } };
const dropped = { result: { action: "cancel", content: null, _meta: null } };
const ROWS: readonly Row[] = [
  ...([["allow", "accept"], ["deny", "decline"], ["fails", "decline"], [
    undefined,
    "decline",
  ]] as const)
    .map(([decision, word]): Row => ({
      what: `a command when the decision is ${decision}`,
      begun: COMMAND,
      method: RUN,
      params: { itemId: "c1", command: "rm x", cwd: "/w" },
      ...(decision === undefined ? {} : { decision, asked: shown }),
      answer: { result: { decision: word } },
    })),
  {
    what: "more than a command, all of it shown",
    method: RUN,
    decision: "allow",
    answer: { result: { decision: "accept" } },
    params: { itemId: "c9", reason: "why", networkApprovalContext: { host: "x" }, command: null },
    asked: { arguments: { reason: "why", networkApprovalContext: { host: "x" } } },
  },
  {
    what: "a change of files",
    begun: CHANGE,
    method: EDIT,
    params: { itemId: "c1", reason: null },
    decision: "allow",
    answer: { result: { decision: "accept" } },
    asked: { tool: "apply_patch", arguments: { changes: CHANGE.changes } },
  },
  {
    what: "an unknown change of files",
    method: EDIT,
    params: { itemId: "c2" },
    decision: "allow",
    answer: { result: { decision: "decline" } },
  },
  {
    what: "a whole folder",
    begun: CHANGE,
    method: EDIT,
    params: { itemId: "c1", grantRoot: "/w" },
    decision: "allow",
    answer: { result: { decision: "decline" } },
  },
  {
    what: "a call of an MCP, its arguments in another order",
    begun: CALL,
    method: ELICIT,
    params: approval(),
    decision: "allow",
    answer: { result: { action: "accept", content: {}, _meta: null } },
    asked: { mcp: "web", tool: "get", arguments: CALL.arguments, isProxied: false },
  },
  ...[
    { begun: CALL, params: approval({ tool_params: { a: 3 } }) },
    { begun: CALL, params: approval({ tool_name: "put" }) },
    { begun: CALL, params: { ...approval(), serverName: "git" } },
    { begun: COMMAND, params: approval() },
    { begun: { ...CALL, server: "git" }, params: { ...approval(), serverName: "git" } },
  ].map(({ begun, params }): Row => ({
    what: `a server's own question ${JSON.stringify(params)} during ${begun.type}`,
    begun,
    method: ELICIT,
    params,
    decision: "allow",
    answer: dropped,
    notice: `MCP "${params.serverName}" asked a question, which was cancelled: Allow?`,
  })),
  {
    what: "more permissions",
    method: "item/permissions/requestApproval",
    params: { reason: "the net" },
    decision: "allow",
    answer: { result: { permissions: {}, scope: "turn" } },
    notice: "The program asked a question, which was cancelled: the net",
  },
  {
    what: "an invalid question",
    method: "item/tool/requestUserInput",
    params: { questions: [{ question: "Tea?" }] },
    decision: "allow",
    answer: { result: { answers: {} } },
    notice: "The program asked a question, which was cancelled: the name of a field is unusable",
  },
  {
    what: "a server's question without an approval, and no person answers",
    begun: CALL,
    method: ELICIT,
    params: { ...approval(), _meta: null, mode: "form" },
    decision: "allow",
    answer: dropped,
  },
  {
    what: "an unknown request",
    method: "item/tool/call",
    params: {},
    decision: "allow",
    answer: { error: { code: -32601, message: "not supported: item/tool/call" } },
  },
];
for (const { what, begun, method, params, decision, answer, asked, notice } of ROWS) {
  Deno.test(`a program that asks about ${what} is answered`, async () => {
    const answers: PeerMessage[] = [];
    const asks: PermissionAsk[] = [];
    const items = begun === undefined ? [] : [item("started", begun)];
    const of = codexScene((peer, message) => {
      if (message.method === "turn/start") {
        const ask = { id: "q", ...note(method, params) };
        return peer.say({ id: message.id, result: TAKEN }, STARTED, ...items, ask);
      }
      if (message.method === "thread/start") {
        return peer.say({ id: message.id, result: OPENED }, ...READY);
      }
      if (message.id !== "q") return undefined;
      answers.push(message);
      return peer.say(ended("completed"));
    }, {
      files: CONFIG,
      ...(decision === undefined ? {} : {
        decidePermission: (ask) => {
          asks.push(ask);
          return decision === "fails"
            ? Promise.reject(new Error("x"))
            : Promise.resolve({ decision, reason: "no" });
        },
      }),
    });
    const { seen, outcome } = await runTurn(of);
    assert.equal(outcome.outcome, "completed");
    assert.deepEqual(answers, [{ id: "q", ...answer }]);
    assert.equal(asks.length, asked === undefined ? 0 : 1);
    assert.deepEqual({ ...asks[0], ...asked }, { ...asks[0] });
    const notices = seen.flatMap((update) => update.kind === "notice" ? [update.text] : []);
    assert.deepEqual(notices, notice === undefined ? [] : [notice]);
  });
}

Deno.test("a call needs one approval: a second question about it is the server's", async () => {
  const answers: PeerMessage[] = [];
  const of = codexScene((peer, message) => {
    const ask = (id: string) => ({ id, ...note(ELICIT, approval()) });
    if (message.method === "turn/start") {
      return peer.say({ id: message.id, result: TAKEN }, STARTED, item("started", CALL), ask("q1"));
    }
    if (message.method !== undefined) return undefined;
    answers.push([message.id, message.result.action]);
    return peer.say(message.id === "q1" ? ask("q2") : ended("completed"));
  }, { decidePermission: () => Promise.resolve({ decision: "allow" }) });
  await runTurn(of);
  assert.deepEqual(answers, [["q1", "accept"], ["q2", "cancel"]]);
});

Deno.test("an answer is not sent after its question was withdrawn", async () => {
  const decided = Promise.withResolvers<{ decision: "deny"; reason: string }>();
  const asked = Promise.withResolvers<void>();
  const of = codexScene((peer, { id, method }) => {
    if (method === "turn/interrupt") {
      const resolved = note("serverRequest/resolved", { requestId: "q" });
      return peer.say({ id, result: {} }, resolved, ended("interrupted"));
    }
    if (method !== "turn/start") return undefined;
    return peer.say({ id, result: TAKEN }, STARTED, { id: "q", ...note(RUN, { itemId: "c1" }) });
  }, {
    decidePermission: () => {
      asked.resolve();
      return decided.promise;
    },
  });
  const session = await withTime(of.host, of.driver.start());
  const turn = promptIn(of, session);
  await asked.promise;
  await session.cancel();
  assert.deepEqual((await turn).outcome, { outcome: "cancelled" });
  decided.resolve({ decision: "deny", reason: "too late" });
  await withTime(of.host, session.close(1_000));
  assert.ok(!of.peers[0]?.seen.some(({ id }) => id === "q"));
});

Deno.test("a cancel that arrives before the turn begins is sent when it has begun", async () => {
  const of = codexScene((peer, { id, method }) => {
    if (method === "turn/start") {
      return peer.say({ id, result: TAKEN }, note("warning"), STARTED);
    }
    return method === "turn/interrupt"
      ? peer.say({ id, result: {} }, ended("interrupted"))
      : undefined;
  });
  const session = await withTime(of.host, of.driver.start());
  const turn = promptIn(of, session);
  await session.cancel();
  assert.deepEqual((await turn).outcome, { outcome: "cancelled" });
  const [{ params }] = sentBy(of.peers[0]?.seen ?? [], "turn/interrupt");
  assert.deepEqual(params, { threadId: THREAD, turnId: TURN });
  await withTime(of.host, session.close(1_000));
});

Deno.test("the reason of a denial precedes the next turn, once", async () => {
  const of = codexScene((peer, message) => {
    if (message.id === "q") return peer.say(ended("completed"));
    if (message.method !== "turn/start") return undefined;
    const isFirst = sentBy(peer.seen, "turn/start").length === 1 && of.peers.length === 1;
    const ask = { id: "q", ...note(RUN, { itemId: "c1" }) };
    return peer.say({ id: message.id, result: TAKEN }, STARTED, isFirst ? ask : ended("completed"));
  }, { decidePermission: () => Promise.resolve({ decision: "deny", reason: "not today" }) });
  await runTurn(of);
  const session = await withTime(of.host, of.driver.start());
  for (let turn = 0; turn < 2; turn++) await promptIn(of, session);
  await withTime(of.host, session.close(1_000));
  const texts = sentBy(of.peers[1]?.seen ?? [], "turn/start")
    .map(({ params }) => params.input[0].text);
  assert.deepEqual(texts, ["[permission: not today]\n\ngo", "go"]);
});

const REFUSED = {
  message: '{"error":{"message":"no such model"}}',
  codexErrorInfo: "modelNotFound",
};
const ERRORS: readonly (readonly [unknown, string, string])[] = [
  [REFUSED, "model-not-found", "no such model"],
  [{ message: "x", codexErrorInfo: "usageLimitExceeded" }, "model-quota-exhausted", "x"],
  [
    {
      message: "Reconnecting",
      additionalDetails: "401 bad key",
      codexErrorInfo: { responseStreamDisconnected: { httpStatusCode: 401 } },
    },
    "model-unauthorized",
    "401 bad key; run: fleetctl secret set OPENAI_API_KEY --agent ada",
  ],
  [
    { message: "cut", codexErrorInfo: { responseStreamDisconnected: { httpStatusCode: null } } },
    "model-stream-cut",
    "cut",
  ],
  [{ message: "x", codexErrorInfo: "other" }, "runtime-error", "x"],
  [null, "runtime-error", "The runtime ended the turn without a reason"],
];
for (const [error, code, reason] of ERRORS) {
  Deno.test(`a turn that ends with ${JSON.stringify(error)} failed with ${code}`, async () => {
    const of = codexScene((peer, { id, method }) =>
      method === "turn/start"
        ? peer.say({ id, result: TAKEN }, STARTED, ended("failed", error))
        : undefined
    );
    assert.deepEqual((await runTurn(of)).outcome, { outcome: "failed", code, reason });
  });
}

Deno.test("a prompt that is refused fails the turn, and the next one runs", async () => {
  const of = codexScene((peer, message) =>
    message.method === "turn/start" && sentBy(peer.seen, "turn/start").length === 1
      ? peer.say({ id: message.id, error: { code: -32600, message: "busy" } })
      : answering()(peer, message)
  );
  const session = await withTime(of.host, of.driver.start());
  assert.deepEqual((await promptIn(of, session)).outcome, {
    outcome: "failed",
    code: "runtime-error",
    reason: "busy",
  });
  assert.deepEqual((await promptIn(of, session)).outcome, { outcome: "completed" });
  await withTime(of.host, session.close(1_000));
});

Deno.test("only items of the running turn are shown, each kind with what it did", async () => {
  const done = (fields: Readonly<Record<string, unknown>>) =>
    item("completed", { status: "completed", ...fields });
  const of = codexScene(answering(
    { method: "item/completed", params: { threadId: "other", turnId: TURN, item: COMMAND } },
    { method: "item/completed", params: { threadId: THREAD, turnId: "old", item: COMMAND } },
    { method: "turn/completed", params: { threadId: THREAD, turn: { id: "old" } } },
    { method: "turn/completed", params: { threadId: "other", turn: { id: TURN } } },
    note("turn/started", { turn: { id: "the program's own" } }),
    note("turn/completed", { turn: { id: "the program's own" } }),
    { method: "news/of/tomorrow", params: [] },
    note("item/started", { item: { type: "hologram", id: "h1" } }),
    item("started", { ...COMMAND, status: "inProgress" }),
    done({ ...COMMAND, status: "failed", aggregatedOutput: "no x\n", exitCode: 1 }),
    done({ type: "webSearch", id: "c2", query: "tea" }),
    done({ type: "imageView", id: "c3", path: "/w/a.png" }),
    done({ ...CALL, id: "c4", status: "failed", error: { message: "it fell" } }),
    done({ type: "contextCompaction", id: "c5" }),
    done({ type: "agentMessage", id: "m1", text: "whole" }),
  ));
  const { seen } = await runTurn(of);
  const told = seen.map((update) =>
    update.kind === "tool_call"
      ? [update.callId, update.mcp, update.tool, update.arguments]
      : update.kind === "tool_result"
      ? [update.callId, update.status, update.text]
      : update.kind === "image"
      ? [update.kind, update.image]
      : [update.kind, "text" in update ? update.text : undefined]
  );
  assert.deepEqual(told, [
    ["c1", undefined, "exec_command", { command: "rm x", cwd: "/w" }],
    ["c1", "failed", "no x\n[exit code 1]"],
    ["c2", undefined, "web_search", { query: "tea" }],
    ["c2", "completed", ""],
    ["c3", undefined, "view_image", { path: "/w/a.png" }],
    ["c3", "completed", ""],
    ["image", { path: "/w/a.png" }],
    ["c4", "web", "get", CALL.arguments],
    ["c4", "failed", "it fell"],
    ["notice", "The runtime shortened the conversation"],
    ["text_delta", "whole"],
    ["message", "whole"],
  ]);
});
