/**
 * An agent of the fleet behind the official ACP client: threads, prompts, cancels, failures, and
 * the end of the connection.
 *
 * @module
 */

import assert from "node:assert/strict";
import { methods, RequestError } from "@agentclientprotocol/sdk";
import { refusal } from "core/errors.ts";
import { err } from "core/result.ts";
import { chunkText, editorScene, ending } from "tests/cli/acp/editor_scene.ts";

function codeOf(answer: unknown): unknown {
  assert.ok(answer instanceof RequestError, String(answer));
  return [answer.code, (answer.data as { code?: unknown } | undefined)?.code];
}

Deno.test("initialize states the version and the supported capabilities", async () => {
  const scene = await editorScene();
  for (const protocolVersion of [1, 2, 99]) {
    const answer = await scene.agent.request(methods.agent.initialize, { protocolVersion });
    assert.equal(answer.protocolVersion, 1);
    assert.deepEqual(answer.agentInfo, {
      name: "fleetctl",
      title: "ada (fleetctl)",
      version: "1.2.3",
    });
    assert.equal(answer.agentCapabilities?.loadSession, false);
    assert.deepEqual(answer.agentCapabilities?.promptCapabilities, {
      image: false,
      audio: false,
      embeddedContext: true,
    });
  }
  const load = { sessionId: "x", cwd: "/p", mcpServers: [] };
  const loaded = await scene.agent.request(methods.agent.session.load, load).catch((e) => e);
  assert.deepEqual(codeOf(loaded), [-32601, undefined]);
  await scene.close();
});

Deno.test("a prompt is a turn; a thread's first one names what the agent ignores", async () => {
  const scene = await editorScene();
  const { sessionId } = await scene.agent.request(methods.agent.session.new, {
    cwd: "/home/me/p",
    mcpServers: [{ name: "x", command: "/bin/x", args: [], env: [] }],
  });
  for (const round of [1, 2]) {
    const answer = scene.prompt(sessionId, `hello ${round}`);
    const turn = await scene.nextTurn();
    assert.equal(turn.text, `hello ${round}`);
    await turn.event("message", { message_id: `m${round}`, role: "assistant", text: "hi" });
    turn.end(ending("completed"));
    assert.equal(await answer, "end_turn");
  }
  const [welcome = "", ...answers] = scene.updates.map(chunkText);
  assert.match(
    welcome,
    /^Agent "ada" on host "atlas" answers here\. This thread is the conversation "editor-/,
  );
  assert.match(welcome, /folder "\/home\/me\/p" and its 1 MCP server are not used/);
  assert.deepEqual(answers, ["\n\nhi", "hi"]);
  await scene.close();
});

Deno.test("an editor that shows notices gets the welcome as one", async () => {
  const scene = await editorScene({}, { capabilities: { session: { notices: {} } } });
  const answer = scene.prompt(await scene.open(), "hello");
  (await scene.nextTurn()).end(ending("completed"));
  assert.equal(await answer, "end_turn");
  assert.deepEqual(scene.updates.map(({ sessionUpdate }) => sessionUpdate), ["notice"]);
  await scene.close();
});

Deno.test("session/cancel cancels the turn, in every state", async () => {
  const scene = await editorScene();
  const sessionId = await scene.open();
  const stopped = err(refusal("turn-stopped", "Cannot complete the turn: it did not end in time"));
  for (const end of [ending("cancelled"), stopped]) {
    const answer = scene.prompt(sessionId, "work");
    const turn = await scene.nextTurn();
    await scene.agent.notify(methods.agent.session.cancel, { sessionId });
    turn.watcher.stop.addEventListener("abort", () => turn.end(end));
    assert.equal(await answer, "cancelled");
  }
  assert.ok(scene.updates.some((update) => chunkText(update).includes("did not end in time")));
  // Without a running turn, a cancel has nothing to do.
  await scene.agent.notify(methods.agent.session.cancel, { sessionId });
  await scene.agent.notify(methods.agent.session.cancel, { sessionId: "ada:none" });
  await scene.close();
});

Deno.test("a cancelled request and a closed thread cancel the turn too", async () => {
  const scene = await editorScene();
  const sessionId = await scene.open();
  const cancel = new AbortController();
  const params = { sessionId, prompt: [{ type: "text" as const, text: "one" }] };
  const one = scene.agent.request(methods.agent.session.prompt, params, {
    cancellationSignal: cancel.signal,
  }).catch((thrown) => thrown);
  const first = await scene.nextTurn();
  first.watcher.stop.addEventListener("abort", () => first.end(ending("cancelled")));
  cancel.abort();
  assert.deepEqual(await one, { stopReason: "cancelled" });
  const two = scene.prompt(sessionId, "two");
  const second = await scene.nextTurn();
  second.watcher.stop.addEventListener("abort", () => second.end(ending("cancelled")));
  await scene.agent.request(methods.agent.session.close, { sessionId });
  assert.equal(await two, "cancelled");
  assert.deepEqual(codeOf(await scene.prompt(sessionId, "three")), [-32002, undefined]);
  await scene.close();
});

Deno.test("a thread refuses a second prompt while one runs; another accepts it", async () => {
  const scene = await editorScene();
  const sessionId = await scene.open();
  const first = scene.prompt(sessionId, "one");
  const turn = await scene.nextTurn();
  assert.deepEqual(codeOf(await scene.prompt(sessionId, "two")), [-32600, "prompt-running"]);
  const other = scene.prompt(await scene.open(), "three");
  (await scene.nextTurn()).end(ending("completed"));
  assert.equal(await other, "end_turn");
  turn.end(ending("completed"));
  assert.equal(await first, "end_turn");
  const third = scene.prompt(sessionId, "four");
  (await scene.nextTurn()).end(ending("completed"));
  assert.equal(await third, "end_turn");
  await scene.close();
});

Deno.test("failures are errors with code and hint", async () => {
  const stopped = refusal("agent-stopped", "Cannot send a turn to agent ada: it was stopped", {
    hints: ["fleetctl agents start ada"],
  });
  let ready = true;
  const scene = await editorScene({
    ready: async () => ready ? { ok: true, value: undefined } : err(stopped),
  });
  const sessionId = await scene.open();
  const failed = scene.prompt(sessionId, "one");
  (await scene.nextTurn()).end(ending("failed", { code: "model-unreachable", reason: "no route" }));
  assert.deepEqual(codeOf(await failed), [-32603, "model-unreachable"]);
  const lost = scene.prompt(sessionId, "two");
  (await scene.nextTurn()).end(err(refusal("turn-unknown", "Cannot determine how it ended")));
  assert.deepEqual(codeOf(await lost), [-32603, "turn-unknown"]);
  const image = { type: "image" as const, data: "AA", mimeType: "image/png" };
  const unfit = await scene.agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [image],
  }).catch((thrown) => thrown);
  assert.deepEqual(codeOf(unfit), [-32602, "prompt-unfit"]);
  ready = false;
  const refused = await scene.prompt(sessionId, "three");
  assert.deepEqual(codeOf(refused), [-32603, "agent-stopped"]);
  assert.match(String(refused), /it was stopped\nhint: fleetctl agents start ada/);
  assert.deepEqual(codeOf(await scene.open().catch((thrown) => thrown)), [-32603, "agent-stopped"]);
  await scene.close();
});

Deno.test("each new thread begins a conversation, which its prompts use", async () => {
  const scene = await editorScene();
  const used: (string | undefined)[] = [];
  const threads = [await scene.open(), await scene.open()];
  for (const sessionId of [...threads, ...threads]) {
    const answer = scene.prompt(sessionId, "hello");
    const turn = await scene.nextTurn();
    used.push(turn.conversation);
    const { text, conversation } = turn;
    await turn.event("turn_asked", { text, by: "the operator", conversation });
    turn.end(ending("completed"));
    assert.equal(await answer, "end_turn");
  }
  const [one = "", two, ...again] = used;
  assert.match(one, /^editor-\d{4}-\d\d-\d\d-1$/);
  assert.notEqual(one, two);
  assert.deepEqual(again, [one, two]);
  assert.deepEqual(threads, [`ada/${one}`, `ada/${two}`]);
  assert.ok(!scene.texts().join("").includes("older version"));
  await scene.close();
});

const RESUMED: readonly (readonly [string, string, string | undefined])[] = [
  [
    "a thread of an earlier process",
    "ada/editor-2026-01-02-a1b2c3d4",
    "editor-2026-01-02-a1b2c3d4",
  ],
  ["a conversation that began elsewhere", "ada/trip", "trip"],
  ["the default conversation", "ada/default", undefined],
  ["a thread of an earlier version", "ada:0c0ffee0", undefined],
];
for (const [name, sessionId, conversation] of RESUMED) {
  Deno.test(`session/resume continues ${name}`, async () => {
    const scene = await editorScene();
    await scene.agent.request(methods.agent.session.resume, { sessionId, cwd: "/p" });
    const answer = scene.prompt(sessionId, "hello again");
    const turn = await scene.nextTurn();
    assert.equal(turn.conversation, conversation);
    turn.end(ending("completed"));
    assert.equal(await answer, "end_turn");
    const thread = conversation === undefined
      ? "continues the agent's default conversation"
      : `is the conversation "${conversation}"`;
    assert.ok(scene.texts().join("").includes(thread));
    await scene.close();
  });
}

Deno.test("session/resume refuses ids that are not threads of the agent", async () => {
  const scene = await editorScene();
  for (const sessionId of ["bea/trip", "bea:old", "ada/", "ada/../x", "ada", ""]) {
    const params = { sessionId, cwd: "/p" };
    const answer = await scene.agent.request(methods.agent.session.resume, params).catch((e) => e);
    assert.deepEqual(codeOf(answer), [-32002, undefined], sessionId);
  }
  assert.deepEqual(codeOf(await scene.prompt("ada/none", "x")), [-32002, undefined]);
  await scene.close();
});

Deno.test("an older dial unit uses the default conversation, and the editor says so", async () => {
  const scene = await editorScene();
  const answer = scene.prompt(await scene.open(), "hello");
  const turn = await scene.nextTurn();
  await turn.event("turn_asked", { text: "hello", by: "the operator" });
  turn.end(ending("completed"));
  assert.equal(await answer, "end_turn");
  assert.match(scene.texts().join(""), /older version\. This prompt continues the agent's default/);
  await scene.close();
});

Deno.test("the editor shows that a turn waits if it does not begin at once", async () => {
  const scene = await editorScene();
  const answer = scene.prompt(await scene.open(), "hello");
  const turn = await scene.nextTurn();
  await turn.event("turn_asked", { text: "hello", by: "the operator" });
  await scene.clock.advance(2_000);
  const waits = await scene.update((update) => update.sessionUpdate === "agent_thought_chunk");
  assert.match(chunkText(waits), /has not begun yet/);
  await turn.event("turn_started", {});
  turn.end(ending("completed"));
  assert.equal(await answer, "end_turn");
  assert.equal(scene.clock.pending(), 0);
  await scene.close();
});

Deno.test("an editor that closes stdin cancels nothing", async () => {
  const scene = await editorScene();
  const answer = scene.prompt(await scene.open(), "work");
  const { watcher, end } = await scene.nextTurn();
  await scene.close();
  assert.ok(watcher.leave?.aborted);
  assert.ok(!watcher.stop.aborted);
  end(ending("completed"));
  assert.ok(await answer instanceof Error);
});
