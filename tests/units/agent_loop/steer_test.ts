/**
 * Messages that are sent into a running turn: the real runtime process and a scripted model
 * endpoint. Each message is in the next prompt once, also after a kill.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ModelRequest } from "tests/fakes/model_endpoint.ts";
import { type RuntimeProcess, startRuntime } from "tests/support/runtime_process.ts";
import { GRACE_MS, of, withRuntime } from "tests/support/runtime_scene.ts";

const steer = async (runtime: RuntimeProcess, id: string, text: string, turnId = "turn-a") => {
  assert.ok(runtime.session.steer !== undefined);
  await runtime.session.steer({ turnId, id, text });
};
/** The messages of a request without its system prompt, as role and text. */
const prompt = (request: ModelRequest | undefined) =>
  (request?.body.messages as { role: string; content: unknown }[]).slice(1)
    .map(({ role, content }) => `${role} ${content ?? ""}`.trim());
const TRUE = { tool: "bash", arguments: { command: "true" } };

Deno.test("a message is read after the results of the running step, once", async () => {
  await withRuntime(async ({ model, runtime }) => {
    const asked = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<void>();
    model.script(
      () => {
        asked.resolve();
        return { kind: "answer", calls: [TRUE], after: sent.promise };
      },
      { kind: "answer", text: "in red then" },
    );
    const turn = runtime.turn("paint it blue", undefined, "turn-a");
    await asked.promise;
    await steer(runtime, "m1", "no, red");
    await steer(runtime, "m1", "no, red");
    await steer(runtime, "m2", "of another turn", "turn-b");
    await steer(runtime, "m3", "/compact");
    sent.resolve();
    const { outcome, updates } = await turn;
    assert.equal(outcome.outcome, "completed");
    assert.deepEqual(of(updates, "steered"), [{
      kind: "steered",
      messageId: "m1",
      text: "no, red",
    }]);
    assert.deepEqual(prompt(model.requests[1]), [
      "user paint it blue",
      "assistant",
      "tool (no output)",
      "user no, red",
    ]);
  });
});

Deno.test("a message that arrives with the last answer is answered in the same turn", async () => {
  await withRuntime(async ({ model, runtime }) => {
    const asked = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<void>();
    model.script(
      () => {
        asked.resolve();
        return { kind: "answer", text: "done", after: sent.promise };
      },
      { kind: "answer", text: "and tested" },
    );
    const turn = runtime.turn("build it", undefined, "turn-a");
    await asked.promise;
    await steer(runtime, "m1", "test it too");
    sent.resolve();
    const { text } = await turn;
    assert.equal(text, "done\nand tested");
    assert.deepEqual(prompt(model.requests[1]), [
      "user build it",
      "assistant done",
      "user test it too",
    ]);
    // The turn is over: the message stays with its sender.
    await steer(runtime, "m2", "too late");
    model.script({ kind: "answer", text: "next" });
    const next = await runtime.turn("too late", undefined, "turn-b");
    assert.deepEqual(of(next.updates, "steered"), []);
  });
});

Deno.test("a turn that continues after a kill reads its message once", async () => {
  await withRuntime(async ({ model, runtime, home, env }) => {
    const asked = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<void>();
    const stored = Promise.withResolvers<void>();
    model.script(
      () => {
        asked.resolve();
        return { kind: "answer", text: "I begin.", after: sent.promise };
      },
      { kind: "hang", text: "I" },
    );
    const cut = runtime.turn("work", ({ kind }) => {
      if (kind === "steered") stored.resolve();
    }, "turn-a");
    await asked.promise;
    await steer(runtime, "m1", "faster");
    sent.resolve();
    await stored.promise;
    Deno.kill(runtime.child.pid, "SIGKILL");
    assert.equal((await cut).outcome.outcome, "interrupted");
    const again = await startRuntime(home, env);
    try {
      const resumed = Promise.withResolvers<void>();
      // The killed process may not have made its last request.
      model.forget();
      model.script(() => {
        resumed.resolve();
        return { kind: "answer", text: "Done fast.", after: sent.promise };
      });
      const turn = again.turn("work", undefined, "turn-a");
      await steer(again, "m1", "faster");
      await resumed.promise;
      const { outcome, updates } = await turn;
      assert.equal(outcome.outcome, "completed");
      assert.deepEqual(of(updates, "steered").map(({ messageId }) => messageId), ["m1"]);
      assert.deepEqual(prompt(model.requests.at(-1)), [
        "user work",
        "assistant I begin.",
        "user faster",
      ]);
    } finally {
      await again.session.close(GRACE_MS);
    }
  });
});
