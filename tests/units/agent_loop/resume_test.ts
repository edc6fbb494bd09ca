/**
 * A turn continues in the next process of the runtime: `kill -9` and a regular end in mid-turn, and
 * journals that are missing, damaged or of another version.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { UNKNOWN_TEXT } from "units/agent_loop/journal/plan.ts";
import { startRuntime } from "tests/support/runtime_process.ts";
import { GRACE_MS, lifeline, of, withRuntime } from "tests/support/runtime_scene.ts";

type Message = { readonly role: string; readonly content: string | null };

/** Adds a line to a file, so that a test can count how often a command ran. */
const count = (home: string, name: string) => ({
  tool: "bash",
  arguments: { command: `echo ${name} >> ${home}/ran` },
});
const ran = (home: string) => Deno.readTextFile(`${home}/ran`).catch(() => "");

for (const how of ["kill -9", "close()"] as const) {
  Deno.test(`${how} in a call: the turn continues, the call is unknown`, async () => {
    await withRuntime(async ({ model, runtime, home, env }) => {
      const alive = await lifeline(home);
      const command = `echo second >> ${home}/ran; exec 9>${alive.path}; sleep 1000`;
      model.script(
        { kind: "answer", text: "I begin.", calls: [count(home, "first")] },
        {
          kind: "answer",
          calls: [{ tool: "bash", arguments: { command } }, count(home, "third")],
        },
      );
      const cut = runtime.turn("work", undefined, "turn-a");
      await alive.begun;
      if (how === "close()") await runtime.session.close(GRACE_MS);
      else Deno.kill(runtime.child.pid, "SIGKILL");
      assert.equal((await cut).outcome.outcome, "interrupted");
      await alive.ended();

      const again = await startRuntime(home, env);
      try {
        model.script({ kind: "answer", text: "All done." });
        const { outcome, updates, text } = await again.turn("work", undefined, "turn-a");
        assert.equal(outcome.outcome, "completed");
        assert.equal(text, "I begin.\nAll done.");
        assert.equal(await ran(home), "first\nsecond\nthird\n");
        const results = of(updates, "tool_result");
        assert.deepEqual(results.map(({ status }) => status), [
          "completed",
          "stopped",
          "completed",
        ]);
        assert.equal(results[1]?.text, UNKNOWN_TEXT);
        assert.match(of(updates, "notice")[0]?.text ?? "", /unknown whether bash took effect/);
        const told: readonly Message[] = model.requests.at(-1)?.body.messages;
        assert.equal(told.filter(({ role }) => role === "user").length, 1);
        assert.match(JSON.stringify(told), /outcome unknown/);
        // A second request for an ended turn only repeats its end.
        const asked = model.requests.length;
        const third = await again.turn("work", undefined, "turn-a");
        assert.equal(third.outcome.outcome, "completed");
        assert.equal(third.text, text);
        assert.equal(model.requests.length, asked);
      } finally {
        await again.session.close(GRACE_MS);
      }
    });
  });
}

Deno.test("a turn that was cut in an answer asks the model again", async () => {
  await withRuntime(async ({ model, runtime, env, home }) => {
    model.script({ kind: "answer", calls: [count(home, "once")] }, { kind: "hang", text: "I am" });
    const streamed = Promise.withResolvers<void>();
    const cut = runtime.turn("work", ({ kind }) => {
      if (kind === "text_delta") streamed.resolve();
    }, "turn-a");
    await streamed.promise;
    Deno.kill(runtime.child.pid, "SIGKILL");
    await cut;
    const again = await startRuntime(home, env);
    try {
      model.script({ kind: "answer", text: "I am done." });
      const { outcome, text } = await again.turn("work", undefined, "turn-a");
      assert.equal(outcome.outcome, "completed");
      assert.equal(text, "I am done.");
      assert.equal(await ran(home), "once\n");
    } finally {
      await again.session.close(GRACE_MS);
    }
  });
});

for (
  const [state, damage] of [
    ["is missing", (path: string) => Deno.remove(path)],
    ["is damaged", (path: string) => Deno.writeTextFile(path, "garbage\n")],
    ["belongs to another turn", async (path: string) => {
      const text = await Deno.readTextFile(path);
      await Deno.writeTextFile(path, text.replace('"turn_id":"turn-a"', '"turn_id":"turn-b"'));
    }],
    ["was written by another version", async (path: string) => {
      const text = await Deno.readTextFile(path);
      await Deno.writeTextFile(path, text.replace('"version":1', '"version":9'));
    }],
  ] as const
) {
  Deno.test(`a journal that ${state}: open calls are unknown`, async () => {
    await withRuntime(async ({ model, runtime, home, env }) => {
      const alive = await lifeline(home);
      const command = `exec 9>${alive.path}; sleep 1000`;
      model.script({
        kind: "answer",
        calls: [{ tool: "bash", arguments: { command } }, count(home, "never")],
      });
      const cut = runtime.turn("work", undefined, "turn-a");
      await alive.begun;
      Deno.kill(runtime.child.pid, "SIGKILL");
      await cut;
      const path = `${pathsUnder(home).journals("ada")}/turn-a.jsonl`;
      assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
      await damage(path);
      const again = await startRuntime(home, env);
      try {
        model.script({ kind: "answer", text: "I go on." });
        const { outcome, updates } = await again.turn("work", undefined, "turn-a");
        assert.equal(outcome.outcome, "completed");
        assert.deepEqual(of(updates, "tool_result").map(({ text }) => text), [
          UNKNOWN_TEXT,
          UNKNOWN_TEXT,
        ]);
        assert.match(of(updates, "notice")[0]?.text ?? "", new RegExp(`journal.*${state}`));
        assert.equal(await ran(home), "");
      } finally {
        await again.session.close(GRACE_MS);
      }
    });
  });
}

Deno.test("a turn without its conversation ends, and names the calls", async () => {
  await withRuntime(async ({ model, runtime, home, env }) => {
    const alive = await lifeline(home);
    const command = `exec 9>${alive.path}; sleep 1000`;
    model.script({ kind: "answer", calls: [{ tool: "bash", arguments: { command } }] });
    const cut = runtime.turn("work", undefined, "turn-a");
    await alive.begun;
    Deno.kill(runtime.child.pid, "SIGKILL");
    await cut;
    await Deno.remove(`${home}/.runtime-b`, { recursive: true });
    const again = await startRuntime(home, env);
    try {
      const { outcome } = await again.turn("work", undefined, "turn-a");
      assert.equal(outcome.code, "turn-lost");
      assert.match(outcome.reason ?? "", /may have been called: bash/);
    } finally {
      await again.session.close(GRACE_MS);
    }
  });
});

Deno.test("a journal that cannot be written fails the turn before any call", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    const journals = pathsUnder(home).journals("ada");
    await Deno.mkdir(journals.slice(0, journals.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(journals, "not a folder");
    model.script({ kind: "answer", calls: [count(home, "never")] });
    const { outcome } = await runtime.turn("work");
    assert.equal(outcome.code, "turn-not-stored");
    assert.equal(await ran(home), "");
    assert.equal(model.requests.length, 0);
  });
});

Deno.test("a journal that was cut at a line: open calls are unknown", async () => {
  await withRuntime(async ({ model, runtime, home, env }) => {
    const alive = await lifeline(home);
    const command = `echo sent >> ${home}/ran; exec 9>${alive.path}; sleep 1000`;
    model.script({ kind: "answer", calls: [count(home, "first")] }, {
      kind: "answer",
      calls: [{ tool: "bash", arguments: { command } }],
    });
    const cut = runtime.turn("work", undefined, "turn-a");
    await alive.begun;
    Deno.kill(runtime.child.pid, "SIGKILL");
    await cut;
    const path = `${pathsUnder(home).journals("ada")}/turn-a.jsonl`;
    const [header] = (await Deno.readTextFile(path)).split("\n");
    await Deno.writeTextFile(path, `${header}\n`);
    const again = await startRuntime(home, env);
    try {
      model.script({ kind: "answer", text: "I go on." });
      const { updates } = await again.turn("work", undefined, "turn-a");
      assert.equal(of(updates, "tool_result").at(-1)?.text, UNKNOWN_TEXT);
      assert.match(of(updates, "notice")[0]?.text ?? "", /journal of the turn is damaged/);
      assert.equal(await ran(home), "first\nsent\n");
    } finally {
      await again.session.close(GRACE_MS);
    }
  });
});
