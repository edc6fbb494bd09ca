/**
 * The system prompt that reaches the model: the real runtime process, real files in its home, and a
 * scripted endpoint that records each request.
 *
 * @module
 */

import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { dirname } from "node:path";
import type { FakeModel } from "tests/fakes/model_endpoint.ts";
import { memoryPath } from "units/agent_loop/memory/remember_tool.ts";
import { startRuntime } from "tests/support/runtime_process.ts";
import { GRACE_MS, of, withRuntime } from "tests/support/runtime_scene.ts";

Deno.test("a turn gets the instruction file as it is now", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    model.script(...answers(4));
    await runtime.turn("one");
    await Deno.writeTextFile(`${home}/AGENTS.md`, "Answer in French.\n");
    await runtime.turn("two");
    await runtime.turn("three");
    await Deno.writeTextFile(`${home}/AGENTS.md`, "Answer in Welsh.\n");
    const last = await runtime.turn("four");
    const [none, french, same, welsh] = prompts(model);
    assert.ok(!none?.includes("# Instruction files"));
    assert.ok(french?.includes(`<instructions path="${home}/AGENTS.md">\nAnswer in French.\n`));
    assert.match(french ?? "", /What your owner writes to you wins over every file/);
    // A provider can cache the prompt only if it is byte for byte the same.
    assert.equal(same, french);
    assert.ok(french?.startsWith(none ?? "?"));
    assert.equal(welsh, french?.replace("French", "Welsh"));
    assert.deepEqual(of(last.updates, "notice"), []);
  });
});

Deno.test("an instruction file of 10 MB is cut with one notice", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    model.script(...answers(2));
    await Deno.writeTextFile(
      `${home}/AGENTS.md`,
      "Use tabs, not spaces, in every file.\n".repeat(284_000),
    );
    const first = await runtime.turn("one");
    const again = await runtime.turn("two");
    assert.deepEqual(first.outcome, { outcome: "completed" });
    const size = (await Deno.stat(`${home}/AGENTS.md`)).size;
    assert.ok(size > 10_000_000);
    const notice = `The model gets the first 32745 of ${size} bytes of "${home}/AGENTS.md"`;
    assert.deepEqual(of(first.updates, "notice").map((each) => each.text), [notice]);
    assert.deepEqual(of(again.updates, "notice"), []);
    const [prompt = ""] = prompts(model);
    assert.ok(prompt.length < 40_000);
    assert.ok(prompt.includes(`every file.\n[the first 32745 of ${size} bytes;`));
  });
});

Deno.test("a small window gets less of the instruction files", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    model.script(...answers(1));
    await Deno.writeTextFile(`${home}/AGENTS.md`, "Be brief and kind.\n".repeat(2_000));
    assert.deepEqual((await runtime.turn("one")).outcome, { outcome: "completed" });
    assert.ok((prompts(model)[0]?.length ?? 0) < 6_000);
  }, { env: { FLEETCTL_CONTEXT_TOKENS: "4000" } });
});

for (
  const { name, lay, reason } of [
    {
      name: "a pipe",
      lay: (path: string) => new Deno.Command("mkfifo", { args: [path] }).output(),
      reason: "it is a device, pipe or socket, must be a regular file",
    },
    {
      name: "a device behind a link",
      lay: (path: string) => symlink("/dev/zero", path),
      reason: "it is a link that leads out of",
    },
    {
      name: "a file of another user",
      lay: (path: string) => symlink("/etc/shadow", path),
      reason: "it is a link that leads out of",
    },
  ]
) {
  Deno.test(`a turn runs without an instruction file that is ${name}`, async () => {
    await withRuntime(async ({ model, runtime, home }) => {
      model.script(...answers(1));
      await lay(`${home}/AGENTS.md`);
      const { outcome, updates } = await runtime.turn("one");
      assert.deepEqual(outcome, { outcome: "completed" });
      const [notice] = of(updates, "notice");
      assert.ok(notice?.text.startsWith(`The model does not get "${home}/AGENTS.md": ${reason}`));
      assert.ok(!prompts(model)[0]?.includes("# Instruction files"));
    });
  });
}

Deno.test("what a turn remembers is in the prompt of all later turns", async () => {
  await withRuntime(async ({ model, runtime, home, env }) => {
    const text = "The owner prefers metric units.";
    model.script(
      { kind: "answer", calls: [{ tool: "remember", arguments: { text } }] },
      ...answers(3),
    );
    const first = await runtime.turn("I prefer metric units");
    assert.deepEqual(of(first.updates, "tool_result").map((result) => result.status), [
      "completed",
    ]);
    await runtime.turn("next");
    await runtime.session.close(GRACE_MS);
    const path = memoryPath(home);
    await Deno.writeTextFile(path, `# By hand\n${await Deno.readTextFile(path)}`);
    const other = await startRuntime(home, env);
    try {
      await other.turn("and now");
    } finally {
      await other.session.close(GRACE_MS);
    }
    const [start, same, next, edited] = prompts(model);
    assert.equal(same, start);
    assert.equal(
      next?.slice(start?.length),
      `\n\n# Memory${MEMORY_WORDS}<memory path="${path}">\n- ${text}\n</memory>`,
    );
    assert.ok(edited?.includes(`>\n# By hand\n- ${text}\n`));
  });
});

Deno.test("a memory of 10 MB is cut in the prompt, and cannot grow", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    const path = memoryPath(home);
    await Deno.mkdir(dirname(path), { recursive: true });
    await Deno.writeTextFile(path, "- The owner prefers metric units.\n".repeat(300_000));
    const { size } = await Deno.stat(path);
    assert.ok(size > 10_000_000);
    const more = { tool: "remember", arguments: { text: "one more" } };
    model.script({ kind: "answer", calls: [more] }, ...answers(1));
    const { outcome, updates } = await runtime.turn("work");
    assert.deepEqual(outcome, { outcome: "completed" });
    assert.match(of(updates, "tool_result")[0]?.text ?? "", /a person must shorten it to 1048576/);
    assert.equal((await Deno.stat(path)).size, size);
    assert.ok((prompts(model)[0]?.length ?? 0) < 40_000);
  });
});

Deno.test("the persona precedes every file", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    model.script(...answers(1));
    await Deno.writeTextFile(`${home}/AGENTS.md`, "Use tabs.\n");
    await runtime.turn("one");
    const [prompt = ""] = prompts(model);
    const at = prompt.indexOf("<persona>\nYou are terse.\n\nYou like trains.\n</persona>");
    assert.ok(at > 0 && at < prompt.indexOf("# Instruction files"));
  }, { env: { FLEETCTL_PERSONA: "You are terse.\n\nYou like trains.\n" } });
});

Deno.test("remember asks like any other write in a home", async () => {
  for (
    const [ask, status] of [["changes", "denied"], ["outside", "denied"], ["never", "completed"]]
  ) {
    await withRuntime(async ({ model, runtime }) => {
      const call = { tool: "remember", arguments: { text: "a fact" } };
      model.script({ kind: "answer", calls: [call] }, ...answers(1));
      // Without a dial unit no person can be asked, so a call that asks is denied.
      const { updates } = await runtime.turn("one");
      assert.deepEqual(of(updates, "tool_result").map((result) => result.status), [status]);
    }, { env: { FLEETCTL_ASK: ask ?? "" } });
  }
});

/** What the prompt says about the memory. */
const MEMORY_WORDS =
  "\n\nWhat you kept with the tool remember in earlier conversations, and what " +
  "your owner wrote there. It may be out of date: what you see now, and what your owner writes, " +
  "wins over it.\n\n";

function answers(count: number) {
  return Array.from({ length: count }, () => ({ kind: "answer" as const, text: "done" }));
}

/** The system prompts of all requests. */
function prompts(model: FakeModel): readonly string[] {
  return model.requests.map(({ body }) => body.messages[0].content);
}
