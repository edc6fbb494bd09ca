/**
 * Tokens of turns, as each protocol reports them: the exact fields, counters that go back, and
 * reports that cannot be true.
 *
 * @module
 */

import assert from "node:assert/strict";
import { methods, RequestError } from "@agentclientprotocol/sdk";
import { USAGE_LIMITS } from "core/limits/usage.ts";
import { readPromptUsage, usageSourceOf } from "units/dial/runtimes/acp_usage.ts";
import { createCodexUsage } from "units/dial/runtimes/codex_usage.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";
import { createStreamUsage } from "units/dial/runtimes/stream_json_usage.ts";
import {
  createUsageMeter,
  readCounts,
  readInclusiveCounts,
  type TurnUsage,
} from "units/dial/runtimes/usage.ts";
import { jsonPeer } from "tests/fakes/json_peer.ts";
import { plainAgent, serve, setUp } from "tests/units/dial/runtimes/acp_scene.ts";
import {
  answering,
  codexScene,
  ended,
  note,
  OPENED,
  promptIn,
  runTurn,
  STARTED,
  TAKEN,
  THREAD,
} from "tests/units/dial/runtimes/codex_scene.ts";
import {
  type DriverScene,
  SESSION_FILE,
  withTime,
} from "tests/units/dial/runtimes/driver_scene.ts";
import { openDriver } from "tests/units/dial/runtimes/line_scene.ts";

/** Tokens of a model: input, output, read from a cache, written to it. */
type Row = readonly [model: string, input: number, output: number, read: number, write: number];

/** A turn's usage as rows; a partial one begins with "partial". */
function rowsOf(usage: TurnUsage | undefined): readonly (Row | "partial")[] | undefined {
  return usage && [
    ...(usage.isPartial ? ["partial" as const] : []),
    ...usage.models.map((of): Row => [
      of.model,
      of.inputTokens,
      of.outputTokens,
      of.cachedReadTokens,
      of.cachedWriteTokens,
    ]),
  ];
}

/** The last update of a turn, if it reports tokens. */
function usageIn(updates: readonly RuntimeUpdate[]) {
  const reports = updates.filter((update) => update.kind === "usage");
  assert.ok(reports.length <= 1);
  const last = updates.at(-1);
  if (last?.kind !== "usage") return undefined;
  return rowsOf({ models: last.models, isPartial: last.isPartial === true });
}

Deno.test("readCounts() accepts whole numbers from 0; a missing field counts as 0", () => {
  const counts = { inputTokens: 1, outputTokens: 0, cachedReadTokens: 0, cachedWriteTokens: 0 };
  assert.deepEqual(readCounts({ inputTokens: 1, outputTokens: null }), counts);
  for (const bad of [-1, 0.5, NaN, Infinity, 2 ** 53, "7", true, {}, []]) {
    assert.equal(readCounts({ inputTokens: 1, outputTokens: bad }), undefined, String(bad));
  }
  assert.equal(readInclusiveCounts({ inputTokens: 5, cachedReadTokens: 6 }), undefined);
});

Deno.test("a meter adds up calls, and marks what it cannot count", () => {
  const meter = createUsageMeter();
  const one = readCounts({ inputTokens: 1, outputTokens: 2 });
  meter.add("m", one);
  meter.add("m", one);
  assert.deepEqual(rowsOf(meter.take()), [["m", 2, 4, 0, 0]]);
  assert.equal(meter.take(), undefined);

  const bad: readonly (() => void)[] = [
    () => meter.add("m", undefined),
    () => meter.add("m", readCounts({})),
    () => meter.add("m", readCounts({ inputTokens: USAGE_LIMITS.tokensMax + 1 })),
    () => meter.miss(),
  ];
  for (const corrupt of bad) {
    corrupt();
    assert.equal(meter.take(), undefined, String(corrupt));
    meter.add("m", one);
    corrupt();
    const rows = rowsOf(meter.take());
    assert.deepEqual(rows, ["partial", ["m", 1, 2, 0, 0]], String(corrupt));
  }
  meter.add("m", one);
  meter.add("m", readCounts({ outputTokens: USAGE_LIMITS.tokensMax }));
  assert.deepEqual(rowsOf(meter.take()), ["partial", ["m", 1, 2, 0, 0]]);
});

Deno.test("a meter bounds the models of a turn and their names", () => {
  const meter = createUsageMeter();
  const one = readCounts({ inputTokens: 1 });
  for (const model of [undefined, 7, "", " \n", "x".repeat(1_000)]) meter.add(model, one);
  assert.deepEqual(rowsOf(meter.take()), [
    ["unknown", 4, 0, 0, 0],
    ["x".repeat(USAGE_LIMITS.modelLengthMax), 1, 0, 0, 0],
  ]);
  for (let n = 0; n <= USAGE_LIMITS.modelsPerTurnMax; n++) meter.add(`m${n}`, one);
  const usage = meter.take();
  assert.equal(usage?.models.length, USAGE_LIMITS.modelsPerTurnMax);
  assert.equal(usage?.isPartial, true);
});

/** A `result` of Claude Code with its counters of the whole process. */
function resultOf(models: Readonly<Record<string, readonly [unknown, unknown, unknown, unknown]>>) {
  const modelUsage = Object.fromEntries(
    Object.entries(models).map(([model, [input, output, read, created]]) => [model, {
      inputTokens: input,
      outputTokens: output,
      cacheReadInputTokens: read,
      cacheCreationInputTokens: created,
      webSearchRequests: 0,
      costUSD: 1.5,
    }]),
  );
  return { type: "result", subtype: "success", usage: { input_tokens: 1 }, modelUsage };
}

Deno.test("stream_json: a turn's tokens are the increase of the process's counters", () => {
  const usage = createStreamUsage();
  const turns: readonly (readonly [ReturnType<typeof resultOf>, unknown])[] = [
    [resultOf({ big: [300, 30, 3_000, 150] }), [["big", 300, 30, 3_000, 150]]],
    [
      resultOf({ big: [800, 80, 8_000, 400], small: [9, 1, 0, 0] }),
      [["big", 500, 50, 5_000, 250], ["small", 9, 1, 0, 0]],
    ],
    // A cancelled turn adds nothing: unknown.
    [resultOf({ big: [800, 80, 8_000, 400], small: [9, 1, 0, 0] }), undefined],
    [
      resultOf({ big: [801, 80, 8_000, 400], small: [NaN, 1, 0, 0] }),
      ["partial", ["big", 1, 0, 0, 0]],
    ],
    // The counters begin again.
    [resultOf({ big: [5, 1, 0, 0] }), [["big", 5, 1, 0, 0]]],
    [resultOf({ big: [-5, 1, 0, 0] }), undefined],
    [{ ...resultOf({}), modelUsage: null as never }, undefined],
    [resultOf({ big: [6, 1, 0, 0] }), [["big", 1, 0, 0, 0]]],
  ];
  for (const [result, rows] of turns) {
    usage.read(result);
    assert.deepEqual(rowsOf(usage.take()), rows, JSON.stringify(result.modelUsage));
  }
});

/** A report of codex: counters of the thread, and the last call; input includes cached tokens. */
function codexReport(total: readonly number[], last: readonly number[]) {
  const of = ([input, cached, written, output]: readonly number[]) => ({
    inputTokens: input,
    cachedInputTokens: cached,
    cacheWriteInputTokens: written,
    outputTokens: output,
    reasoningOutputTokens: 0,
    totalTokens: 0,
  });
  return { total: of(total), last: of(last), modelContextWindow: 1 };
}

const FIRST = codexReport([1_150, 1_000, 50, 10], [1_150, 1_000, 50, 10]);
const SECOND = codexReport([3_450, 3_000, 150, 30], [2_300, 2_000, 100, 20]);

Deno.test("codex: a turn's tokens are the increase of the thread's counters", () => {
  const usage = createCodexUsage();
  usage.use("gpt");
  usage.read(FIRST, true);
  usage.read(SECOND, true);
  // The program repeats a report when a turn is interrupted.
  usage.read(SECOND, true);
  assert.deepEqual(rowsOf(usage.take()), [["gpt", 300, 30, 3_000, 150]]);
  usage.read(SECOND, false);
  assert.equal(usage.take(), undefined);
  // Tokens between turns count for the next one, and a rerouted call for its own model.
  usage.read(codexReport([3_460, 3_000, 150, 31], [10, 0, 0, 1]), false);
  usage.use("other");
  usage.read(codexReport([3_465, 3_000, 150, 32], [5, 0, 0, 1]), true);
  assert.deepEqual(rowsOf(usage.take()), [["gpt", 10, 1, 0, 0], ["other", 5, 1, 0, 0]]);
});

Deno.test("codex: a resumed thread does not count its past again", () => {
  const usage = createCodexUsage();
  usage.read(SECOND, false);
  usage.read(codexReport([3_457, 3_000, 150, 33], [7, 0, 0, 3]), true);
  assert.deepEqual(rowsOf(usage.take()), [["unknown", 7, 3, 0, 0]]);
  // Without such a report, only the last call is known to be new.
  const silent = createCodexUsage();
  silent.read(SECOND, true);
  assert.deepEqual(rowsOf(silent.take()), [["unknown", 200, 20, 2_000, 100]]);
});

Deno.test("codex: after a reset, counters start again; impossible reports are skipped", () => {
  const usage = createCodexUsage();
  usage.read(SECOND, true);
  usage.take();
  usage.read(FIRST, true);
  assert.deepEqual(rowsOf(usage.take()), [["unknown", 100, 10, 1_000, 50]]);
  const bad = [
    undefined,
    {},
    { total: null, last: null },
    codexReport([-1, 0, 0, 0], [1, 0, 0, 0]),
    codexReport([NaN, 0, 0, 0], [1, 0, 0, 0]),
    // More cached tokens than input.
    codexReport([10, 20, 0, 0], [10, 20, 0, 0]),
  ];
  for (const report of bad) {
    usage.read(report, true);
    assert.equal(usage.take(), undefined, JSON.stringify(report));
  }
});

const SOURCE = { model: "session-model", isLastCallOnly: false };
const USAGE = { inputTokens: 10, outputTokens: 2, cachedReadTokens: 30, cachedWriteTokens: 4 };

const ANSWERS: readonly (readonly [what: string, answer: unknown, rows: unknown])[] = [
  ["nothing", { stopReason: "end_turn" }, undefined],
  ["no object", null, undefined],
  ["usage", { usage: { ...USAGE, totalTokens: 46 } }, [["session-model", 10, 2, 30, 4]]],
  ["usage without a total", { usage: USAGE }, [["session-model", 10, 2, 30, 4]]],
  [
    "input that includes cached tokens",
    { usage: { ...USAGE, inputTokens: 44, totalTokens: 46 } },
    [["session-model", 10, 2, 30, 4]],
  ],
  [
    "output without thoughts",
    { usage: { inputTokens: 10, outputTokens: 2, thoughtTokens: 5, totalTokens: 17 } },
    [["session-model", 10, 7, 0, 0]],
  ],
  [
    "output with thoughts",
    { usage: { inputTokens: 10, outputTokens: 7, thoughtTokens: 5, totalTokens: 17 } },
    [["session-model", 10, 7, 0, 0]],
  ],
  ["zeros", { usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 } }, undefined],
  ["a negative number", { usage: { ...USAGE, outputTokens: -1 } }, undefined],
  ["text", { usage: { ...USAGE, outputTokens: "many" } }, undefined],
  ["a list", { usage: [1, 2] }, undefined],
  [
    "the built-in runtime",
    { usage: USAGE, _meta: { fleetctl: { model: "own", is_partial: true } } },
    ["partial", ["own", 10, 2, 30, 4]],
  ],
  [
    "claude-agent-acp, with the tokens of each model",
    {
      usage: USAGE,
      _meta: {
        quota: {
          model_usage: [
            {
              model: "big",
              token_count: {
                inputTokens: 1,
                cachedInputTokens: 2,
                cachedWriteTokens: 3,
                outputTokens: 4,
              },
            },
            { model: "small", token_count: { inputTokens: 5, outputTokens: 6 } },
            { model: "none", token_count: {} },
          ],
        },
      },
    },
    ["partial", ["big", 1, 4, 2, 3], ["small", 5, 6, 0, 0]],
  ],
];

for (const [what, answer, rows] of ANSWERS) {
  Deno.test(`acp: an answer with ${what}`, () => {
    assert.deepEqual(rowsOf(readPromptUsage(answer, SOURCE)), rows);
  });
}

Deno.test("acp: opencode counts the last call only, and names the model with the session", () => {
  const session = { configOptions: [{ id: "mode" }, { id: "model", currentValue: "lab/m" }] };
  const source = usageSourceOf({ agentInfo: { name: "OpenCode" } }, session);
  assert.deepEqual(source, { model: "lab/m", isLastCallOnly: true });
  assert.deepEqual(rowsOf(readPromptUsage({ usage: USAGE }, source)), [
    "partial",
    ["lab/m", 10, 2, 30, 4],
  ]);
  assert.deepEqual(usageSourceOf({}, null), { model: undefined, isLastCallOnly: false });
});

/** Runs one turn in a scene and returns the tokens that its last update reports. */
async function turnIn({ driver, host }: DriverScene) {
  const session = await withTime(host, driver.start());
  const seen: RuntimeUpdate[] = [];
  const collect = (update: RuntimeUpdate) => Promise.resolve(void seen.push(update));
  const outcome = await withTime(host, session.prompt({ turnId: "t", text: "go" }, collect));
  await withTime(host, session.close(1_000));
  return { outcome: outcome.outcome, rows: usageIn(seen) };
}

Deno.test("acp: a prompt's answer ends the turn with its tokens, an error too", async () => {
  const answer = { usage: USAGE, _meta: { fleetctl: { model: "m" } } };
  const rows = [
    [() => ({ stopReason: "end_turn" as const, ...answer }), "completed", [["m", 10, 2, 30, 4]]],
    [
      () => ({ stopReason: "cancelled" as const, ...answer }),
      "cancelled",
      ["partial", ["m", 10, 2, 30, 4]],
    ],
    [
      () => {
        throw new RequestError(-32000, "it broke", { code: "model-silent", ...answer });
      },
      "failed",
      ["partial", ["m", 10, 2, 30, 4]],
    ],
    [() => ({ stopReason: "end_turn" as const }), "completed", undefined],
  ] as const;
  for (const [reply, outcome, wanted] of rows) {
    const program = plainAgent().onRequest(methods.agent.session.prompt, reply);
    const turn = await turnIn(setUp((call) => serve(call, program)));
    assert.deepEqual(turn, { outcome, rows: wanted });
  }
});

/** A program of a line protocol that answers each message of `type` with these lines. */
function lineProgram(
  protocol: "stream_json" | "rpc_jsonl",
  type: string,
  lines: readonly unknown[],
): DriverScene {
  return openDriver(protocol, async (call) => {
    const peer = jsonPeer(call);
    await peer.serve(async (message) => {
      if (message.type === "control_request") {
        const response = { subtype: "success", request_id: message.request_id, response: {} };
        return await peer.say({ type: "control_response", response });
      }
      const accepted = { id: message.id, type: "response", success: true, data: {} };
      if (message.type !== type) return await peer.say(accepted);
      await peer.say(...(protocol === "rpc_jsonl" ? [accepted] : []), ...lines);
    });
  });
}

Deno.test("stream_json: the result ends the turn with its tokens", async () => {
  const result = { ...resultOf({ m: [1, 2, 3, 4] }), is_error: false, result: "done" };
  assert.deepEqual(await turnIn(lineProgram("stream_json", "user", [result])), {
    outcome: "completed",
    rows: [["m", 1, 2, 3, 4]],
  });
  const failed = { ...result, subtype: "error_during_execution" };
  assert.deepEqual(await turnIn(lineProgram("stream_json", "user", [failed])), {
    outcome: "failed",
    rows: ["partial", ["m", 1, 2, 3, 4]],
  });
});

/** An answer of pi's model with its tokens. */
function piAnswer(model: string, [input, output, cacheRead, cacheWrite]: readonly number[]) {
  const usage = { input, output, cacheRead, cacheWrite, reasoning: 0, totalTokens: 0 };
  return { type: "message_end", message: { role: "assistant", model, usage, content: [] } };
}

Deno.test("rpc_jsonl: the tokens of all answers of the turn are added up", async () => {
  const settled = { type: "agent_settled" };
  const user = { type: "message_end", message: { role: "user", usage: { input: 1 } } };
  const compacted = {
    type: "compaction_end",
    result: { summary: "…", usage: { input: 100, output: 10, cacheRead: 0, cacheWrite: 0 } },
  };
  const rows: readonly (readonly [lines: readonly unknown[], wanted: unknown])[] = [
    [[user, piAnswer("m", [1, 2, 3, 4]), piAnswer("m", [10, 20, 30, 40])], [["m", 11, 22, 33, 44]]],
    [[piAnswer("m", [1, 2, 3, 4]), piAnswer("n", [1, 0, 0, 0])], [
      ["m", 1, 2, 3, 4],
      ["n", 1, 0, 0, 0],
    ]],
    [[piAnswer("m", [1, 2, 3, 4]), compacted], [["m", 101, 12, 3, 4]]],
    [[piAnswer("m", [1, 2, 3, 4]), { type: "compaction_end", result: {} }], [
      "partial",
      ["m", 1, 2, 3, 4],
    ]],
    // A call that was cut reports zeros.
    [[piAnswer("m", [1, 2, 3, 4]), piAnswer("m", [0, 0, 0, 0])], ["partial", ["m", 1, 2, 3, 4]]],
    [[piAnswer("m", [0, 0, 0, 0])], undefined],
    [[piAnswer("m", [1, -2, 3, 4])], undefined],
    [[], undefined],
  ];
  for (const [lines, wanted] of rows) {
    const { rows } = await turnIn(lineProgram("rpc_jsonl", "prompt", [...lines, settled]));
    assert.deepEqual(rows, wanted, JSON.stringify(lines));
  }
});

const report = (tokenUsage: unknown, more = {}) =>
  note("thread/tokenUsage/updated", { tokenUsage, ...more });

Deno.test("codex: the thread's model and counters end the turn with its tokens", async () => {
  const opened = { ...OPENED, model: "gpt" };
  const scene = codexScene((peer, message) =>
    message.method === "thread/start"
      ? peer.say({ id: message.id, result: opened })
      : answering(report(FIRST), report(FIRST, { threadId: "other" }), report(SECOND))(
        peer,
        message,
      )
  );
  assert.deepEqual(usageIn((await runTurn(scene)).seen), [["gpt", 300, 30, 3_000, 150]]);
});

Deno.test("codex: a program that ends in mid-turn has reported what it used", async () => {
  const files = { [SESSION_FILE]: JSON.stringify({ runtime: "codex", session_id: THREAD }) };
  const scene = codexScene((peer, { id, method }) => {
    // The counters of the past come with the thread.
    if (method === "thread/resume") {
      return peer.say({ id, result: OPENED }, report(FIRST, { turnId: "old" }));
    }
    if (method !== "turn/start") return undefined;
    return peer.say({ id, result: TAKEN }, STARTED, report(SECOND), ended("failed"));
  }, { files });
  const session = await withTime(scene.host, scene.driver.start());
  const { seen, outcome } = await promptIn(scene, session);
  assert.equal(outcome.outcome, "failed");
  assert.deepEqual(usageIn(seen), ["partial", ["unknown", 200, 20, 2_000, 100]]);
  await withTime(scene.host, session.close(1_000));
});
