/**
 * The todo list: the real runtime process and a scripted model endpoint. It is reported, and stays
 * in the prompt after a summary and a restart.
 *
 * @module
 */

import assert from "node:assert/strict";
import { startRuntime } from "tests/support/runtime_process.ts";
import { GRACE_MS, of, withRuntime } from "tests/support/runtime_scene.ts";

const ITEMS = [
  { text: "read the log", state: "done" },
  { text: "find the cause", state: "active" },
  { text: "write a test", state: "pending" },
] as const;

Deno.test("todo replaces the list, which survives a summary and a restart", async () => {
  await withRuntime(async ({ model, runtime, home, env }) => {
    model.script(
      { kind: "answer", calls: [{ tool: "todo", arguments: { items: [ITEMS[0]] } }] },
      { kind: "answer", calls: [{ tool: "todo", arguments: { items: ITEMS } }] },
      { kind: "answer", calls: [{ tool: "todo", arguments: { items: [{ text: "" }] } }] },
      { kind: "answer", text: "on it" },
      { kind: "answer", text: "- Goals: find the cause" },
    );
    const { updates } = await runtime.turn("mend it");
    assert.deepEqual(of(updates, "plan").map(({ entries }) => entries), [[ITEMS[0]], [...ITEMS]]);
    const results = of(updates, "tool_result");
    assert.deepEqual(results.map(({ status }) => status), ["completed", "completed", "failed"]);
    assert.equal(results[1]?.text, "The list has 3 items, 2 of them not done.");
    await runtime.turn("/compact");
    await runtime.session.close(GRACE_MS);
    const again = await startRuntime(home, env);
    try {
      model.script({ kind: "answer", text: "yes" });
      await again.turn("go on");
      const [, first] = model.requests.at(-1)?.body.messages ?? [];
      assert.match(
        first.content,
        /as you last wrote it:\n\[x\] read the log\n\[>\] find the cause\n\[ \] write a test/,
      );
    } finally {
      await again.session.close(GRACE_MS);
    }
  });
});
