/**
 * The real runtime with a reasoning effort, with a fallback model, and with a limit of model calls.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import type { FakeModel, ModelReply } from "tests/fakes/model_endpoint.ts";
import { startRuntime } from "tests/support/runtime_process.ts";
import { GRACE_MS, of, withRuntime } from "tests/support/runtime_scene.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";

const KEYS = { OPENAI_API_KEY: "key-0123456789", ANTHROPIC_API_KEY: "key-0123456789" };
const DONE: ModelReply = {
  kind: "answer",
  text: "done",
  usage: { input: 100, output: 10 },
};
const CALL: ModelReply = {
  kind: "answer",
  calls: [{ tool: "bash", arguments: { command: "true" } }],
  usage: { input: 50, output: 5 },
};
/** The endpoint is overloaded for every attempt of one model call. */
const overloaded = (status: number): readonly ModelReply[] =>
  Array.from({ length: 5 }, () => ({
    kind: "status",
    status,
    headers: { "retry-after-ms": "1" },
    body: { error: { message: "Overloaded" } },
  }));

const modelsOf = (model: FakeModel) => model.requests.map(({ body }) => body.model);

/** The counted tokens of each model. */
const tokensIn = (updates: readonly RuntimeUpdate[]) =>
  of(updates, "usage").flatMap(({ models }) => models)
    .map((each) => [each.model, each.inputTokens, each.outputTokens])
    .sort();

/** Where each provider's protocol has the effort, and what a request has without one. */
const EFFORTS = [
  ["anthropic", "claude-opus-4-8", "output_config", { effort: "high" }],
  ["anthropic", "claude-sonnet-4-5", "thinking", "enabled"],
  ["openai", "gpt-5", "reasoning", { effort: "high" }],
  ["openai-compatible", "my-model", "reasoning_effort", "high"],
] as const;

for (const [provider, id, field, value] of EFFORTS) {
  Deno.test(`${provider}: the effort reaches ${id} as ${field}`, async () => {
    for (const effort of [undefined, "high"]) {
      await withRuntime(async ({ model, runtime }) => {
        model.script(DONE);
        assert.deepEqual((await runtime.turn("think")).outcome, { outcome: "completed" });
        const sent = model.requests[0]?.body[field];
        if (effort === undefined) assert.equal(sent, undefined);
        else assert.deepEqual(value === "enabled" ? sent.type : sent, value);
      }, {
        env: {
          ...KEYS,
          FLEETCTL_PROVIDER: provider,
          FLEETCTL_MODEL: id,
          ...defined({ FLEETCTL_EFFORT: effort }),
        },
      });
    }
  });
}

Deno.test("a model that refuses the effort ends the turn with a hint", async () => {
  await withRuntime(async ({ model, runtime }) => {
    const message = "Unsupported parameter: reasoning_effort";
    model.script({ kind: "status", status: 400, body: { error: { message } } });
    const { outcome } = await runtime.turn("think");
    assert.equal(outcome.code, "model-effort-refused");
    assert.match(outcome.reason ?? "", /refuses the effort "low".*Unsupported parameter/);
    assert.match(outcome.reason ?? "", /fleetctl secret unset FLEETCTL_EFFORT --agent ada/);
  }, { env: { FLEETCTL_EFFORT: "low" } });
});

for (const status of [429, 503, 529]) {
  Deno.test(`after ${status} the fallback continues the turn, the next begins anew`, async () => {
    await withRuntime(async ({ model, runtime }) => {
      model.script(CALL, ...overloaded(status), CALL, DONE);
      const { outcome, updates } = await runtime.turn("work");
      assert.deepEqual(outcome.outcome, "completed");
      const primary = Array.from({ length: 6 }, () => "fake");
      assert.deepEqual(modelsOf(model), [...primary, "other", "other"]);
      const notices = of(updates, "notice").map(({ text }) => text);
      assert.match(
        notices.at(-1) ?? "",
        /Overloaded.*the fallback model other continues this turn/,
      );
      assert.deepEqual(of(updates, "tool_result").length, 2, "no step was lost");
      assert.deepEqual(tokensIn(updates), [["fake", 50, 5], ["other", 150, 15]]);
      model.script(DONE);
      await runtime.turn("and again");
      assert.equal(modelsOf(model).at(-1), "fake");
    }, { env: { FLEETCTL_FALLBACK_MODEL: "other" } });
  });
}

Deno.test("a turn that was cut on its fallback continues with it", async () => {
  await withRuntime(async ({ model, runtime, home, env }) => {
    model.script(CALL, ...overloaded(503), CALL, { kind: "hang", text: "I am" });
    const cut = runtime.turn("work", ({ kind }) => {
      if (kind === "text_delta") Deno.kill(runtime.child.pid, "SIGKILL");
    }, "turn-a");
    assert.equal((await cut).outcome.outcome, "interrupted");
    for (const replies of [[DONE], []]) {
      const again = await startRuntime(home, env);
      try {
        const before = model.requests.length;
        model.script(...replies);
        const { outcome, updates } = await again.turn("work", undefined, "turn-a");
        assert.deepEqual(outcome, { outcome: "completed" });
        assert.deepEqual(modelsOf(model).slice(before), replies.map(() => "other"));
        assert.deepEqual(tokensIn(updates), [["fake", 50, 5], ["other", 150, 15]]);
      } finally {
        await again.session.close(GRACE_MS);
      }
    }
  }, { env: { FLEETCTL_FALLBACK_MODEL: "other" } });
});

Deno.test("the fallback's own overload ends the turn", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(...overloaded(503), ...overloaded(503));
    const { outcome } = await runtime.turn("work");
    assert.equal(outcome.code, "model-overloaded");
    assert.equal(model.requests.length, 10);
  }, { env: { FLEETCTL_FALLBACK_MODEL: "other" } });
});

Deno.test("another failure does not call the fallback", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script({ kind: "status", status: 401 });
    assert.equal((await runtime.turn("work")).outcome.code, "model-unauthorized");
    assert.deepEqual(modelsOf(model), ["fake"]);
  }, { env: { FLEETCTL_FALLBACK_MODEL: "other" } });
});

Deno.test("a turn stops at its limit of model calls, and the next message continues", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(CALL, CALL);
    const { outcome, updates } = await runtime.turn("work", undefined, "turn-a");
    assert.equal(outcome.code, "steps-exhausted");
    assert.match(outcome.reason ?? "", /limit of model calls; send "continue" to go on/);
    const notices = of(updates, "notice").map(({ text }) => text);
    assert.match(notices.at(-1) ?? "", /because it made 2 model calls/);
    const again = await runtime.turn("work", undefined, "turn-a");
    assert.equal(again.outcome.code, "steps-exhausted", "its end is stored");
    assert.equal(model.requests.length, 2);
    model.script(DONE);
    const next = await runtime.turn("continue");
    assert.deepEqual(next.outcome, { outcome: "completed" });
    const messages: readonly { role: string; content: unknown }[] = model.requests.at(-1)?.body
      .messages;
    assert.deepEqual(messages.map(({ role }) => role), [
      "system",
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
    assert.match(JSON.stringify(messages), /limit of model calls, and the work is not finished/);
  }, { env: { FLEETCTL_STEPS: "2" } });
});
