/**
 * Each task of the evaluation with both of its scripts: the checker accepts the work of the one and
 * finds the mistake of the other.
 *
 * @module
 */

import assert from "node:assert/strict";
import { startFakeModel } from "tests/fakes/model_endpoint.ts";
import { runReal, runScripted } from "tests/eval/run_task.ts";
import { printResults } from "tests/eval/results.ts";
import { realModel } from "tests/eval/real_model.ts";
import { EVAL_TASKS } from "tests/eval/tasks.ts";

for (const task of EVAL_TASKS) {
  Deno.test(`${task.name}: the runtime does the task with a model that can`, async () => {
    const { fault } = await runScripted(task);
    assert.equal(fault, undefined);
  });
  Deno.test(`${task.name}: the checker finds the mistake`, async () => {
    const { fault } = await runScripted(task, task.mistake.script);
    assert.match(fault ?? "no fault", task.mistake.fault);
  });
}

Deno.test("runs a task with the model of an endpoint that the environment names", async () => {
  const [task] = EVAL_TASKS;
  assert.ok(task !== undefined);
  const model = await startFakeModel();
  try {
    model.script(...task.script);
    const env = { FLEETCTL_BASE_URL: model.baseUrl, FLEETCTL_MODEL_KEY: "key-0123456789" };
    const named = realModel("openai-compatible/large-1", env);
    assert.ok(named.ok);
    const { fault, inputTokens } = await runReal(task, named.value);
    assert.equal(fault, undefined);
    assert.equal(inputTokens, 7 * task.script.length);
    assert.equal(model.requests[0]?.body.model, "large-1");
  } finally {
    await model.close();
  }
});

Deno.test("results are a table with a reason for each failed task", () => {
  const tokens = { inputTokens: 1_200, outputTokens: 34 };
  const text = printResults([
    { task: "fix-bug", fault: undefined, calls: 4, ms: 1_240, ...tokens },
    { task: "try-again", fault: "the answer does not state 21", calls: 2, ms: 900, ...tokens },
  ]);
  assert.equal(
    text,
    `task       result  calls  tokens in  tokens out  seconds
fix-bug    done        4       1200          34      1.2
try-again  failed      2       1200          34      0.9  the answer does not state 21
1 of 2 tasks done`,
  );
});

Deno.test("a real model needs a provider, a model and its key", () => {
  const rows: readonly [string, Record<string, string>, string | undefined][] = [
    ["anthropic/large-1", { ANTHROPIC_API_KEY: "k" }, "api.anthropic.com"],
    ["openai/gpt/x", { OPENAI_API_KEY: "k" }, "api.openai.com"],
    ["anthropic/large-1", { OPENAI_API_KEY: "k" }, undefined],
    ["anthropic", { ANTHROPIC_API_KEY: "k" }, undefined],
    ["demo/any", {}, undefined],
    ["openai-compatible/q", {}, undefined],
    [
      "openai-compatible/q",
      { FLEETCTL_BASE_URL: "http://10.0.0.9:8080/v1", FLEETCTL_MODEL_KEY: "k" },
      "10.0.0.9:8080",
    ],
  ];
  for (const [name, env, host] of rows) {
    const found = realModel(name, env);
    assert.equal(found.ok ? found.value.host : undefined, host, name);
    if (!found.ok) assert.match(found.error.message, /^Cannot use the model /);
  }
});
