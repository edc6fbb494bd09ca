/**
 * A disk that becomes full at any write of a turn. No call is made before its mark is stored, and
 * the turn says why it failed. The next turn reads that the outcome of an open call is unknown.
 *
 * @module
 */

import assert from "node:assert/strict";
import { FileFault, type Files } from "core/ports/files.ts";
import { ok } from "core/result.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { type FakeModel, startFakeModel } from "tests/fakes/model_endpoint.ts";
import { silentSink } from "tests/fakes/turn_sink.ts";
import { INTERRUPTED_TEXT } from "units/agent_loop/conversation/message.ts";
import { createConversation } from "units/agent_loop/conversation/store.ts";
import { createJournals } from "units/agent_loop/journal/files.ts";
import { MediaMemory } from "units/agent_loop/media/refusal.ts";
import { createMediaStore } from "units/agent_loop/media/store.ts";
import { loadModel } from "units/agent_loop/model/provider.ts";
import type { ModelSettings } from "units/agent_loop/settings.ts";
import type { Tool } from "units/agent_loop/tools/tool.ts";
import { runTurn } from "units/agent_loop/turn/run_turn.ts";
import { createInbox } from "units/agent_loop/turn/steering.ts";

const HOME = "/home/ada";

/** A disk that accepts every write, until the test says how many more. */
function fillingDisk(files: Files) {
  let left = Infinity;
  const write = <T>(path: string, work: () => Promise<T>) =>
    left-- > 0 ? work() : Promise.reject(new FileFault("ENOSPC", path, "no space left"));
  return {
    accept: (writes: number) => {
      left = writes;
    },
    files: {
      ...files,
      write: (...args) => write(args[0], () => files.write(...args)),
      appendDurably: (...args) => write(args[0], () => files.appendDurably(...args)),
    } as Files,
  };
}

/** The writes of a turn with two answers of two calls each, in order. */
const WRITES = [
  "the journal",
  "the message",
  ...[1, 2].flatMap((answer) => [
    `answer ${answer}`,
    ...[1, 2].flatMap((
      n,
    ) => [`the mark of call ${answer}.${n}`, `the result of call ${answer}.${n}`]),
  ]),
  "the last answer",
  "the end",
];

for (let stored = 0; stored <= WRITES.length; stored++) {
  const next = WRITES[stored];
  const name = next === undefined ? "no fault" : `the disk is full before ${next}`;
  Deno.test(`no call is made without its mark: ${name}`, async () => {
    const model = await startFakeModel();
    try {
      await playTurn(model, stored);
    } finally {
      await model.close();
    }
  });
}

async function playTurn(model: FakeModel, stored: number): Promise<void> {
  const { made, disk, run } = await scene(model);
  const calls = [{ tool: "write", arguments: {} }, { tool: "write", arguments: {} }];
  model.script({ kind: "answer", calls }, { kind: "answer", calls }, {
    kind: "answer",
    text: "ok",
  });
  disk.accept(stored);
  const end = await run("go", "t1");
  const marks = WRITES.slice(0, stored).filter((write) => write.includes("mark")).length;
  assert.equal(made(), marks, "each call is made once its mark is stored");
  if (WRITES.indexOf("the last answer") >= stored) {
    assert.ok(end.kind === "failed", JSON.stringify(end));
    assert.deepEqual([end.code, end.hints], ["turn-not-stored", ["df -h"]]);
    assert.match(end.reason, /no space left/);
  } else assert.equal(end.kind, "stopped");

  disk.accept(Infinity);
  model.forget();
  model.script({ kind: "answer", text: "I go on" });
  assert.equal((await run("go on", "t2")).kind, "stopped");
  assert.equal(made(), marks, "no call is repeated");
  const isOpen = WRITES[stored - 1]?.includes("mark") === true;
  const read = JSON.stringify(model.requests.at(-1)?.body.messages);
  if (isOpen) assert.ok(read.includes(INTERRUPTED_TEXT), read);
}

async function scene(model: FakeModel) {
  const host = memoryHost();
  const disk = fillingDisk(host.files);
  const ports = { ...host, files: disk.files };
  const settings: ModelSettings = {
    provider: "openai-compatible",
    model: "m",
    baseUrl: model.baseUrl,
    key: "k",
    keyName: "KEY",
    contextTokens: 100_000,
    outputTokens: undefined,
    effort: undefined,
    fallback: undefined,
    accepts: [],
  };
  const loaded = await loadModel(settings, { fetch: (input, init) => fetch(input, init) });
  const session = { id: "session-00000001", cwd: HOME };
  const conversation = await createConversation(`${HOME}/sessions`, session, ports);
  assert.ok(conversation.ok);
  let made = 0;
  const tool: Tool = {
    name: "write",
    description: "",
    inputSchema: { type: "object" },
    mcp: undefined,
    tool: "write",
    kind: "edit",
    isConcurrent: false,
    run: () => {
      made++;
      return Promise.resolve({ status: "completed", text: "done" });
    },
  };
  const context = {
    agent: "ada",
    conversation: conversation.value,
    tools: () => [tool],
    journals: createJournals(`${HOME}/journal`, "ada", ports),
    approvals: () => Promise.resolve([]),
    prompt: () => Promise.resolve({ text: "", notices: [] }),
    model: () => Promise.resolve(ok({ loaded, settings })),
    stepsMax: 10,
    prepareTools: () => Promise.resolve(),
    media: createMediaStore(`${HOME}/media`, ports),
    mediaMemory: new MediaMemory(),
    ports,
  };
  const { signal } = new AbortController();
  const run = (text: string, turnId: string) =>
    runTurn(context, {
      turnId,
      text,
      images: [],
      pdfs: [],
      sink: silentSink(),
      signal,
      inbox: createInbox(),
      isEnding: () => false,
    });
  return { disk, run, made: () => made };
}
