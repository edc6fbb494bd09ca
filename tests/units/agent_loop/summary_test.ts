/**
 * Summaries of the conversation: the real runtime process and a scripted model endpoint. A summary
 * replaces older messages, survives a kill, fails safe, and the owner can read and change it.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ModelRequest } from "tests/fakes/model_endpoint.ts";
import { startRuntime, type TurnRecord } from "tests/support/runtime_process.ts";
import { GRACE_MS, of, withRuntime } from "tests/support/runtime_scene.ts";

/** A window that some turns of 4 KB fill. */
const SMALL = { env: { FLEETCTL_CONTEXT_TOKENS: "8000" } };
const LONG = "lorem ipsum dolor ".repeat(230);
const SPENT = { input: 100, output: 10, cachedRead: 0, cachedWrite: 0 };

const isSummaryRequest = ({ body }: ModelRequest) =>
  /summarise the earlier part/.test(JSON.stringify(body.messages[0]));
const sent = ({ body }: ModelRequest) => JSON.stringify(body.messages);

/** The text of the last session file of a home. */
async function sessionText(home: string): Promise<string> {
  const folder = `${home}/.runtime-b/agent/sessions`;
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(".jsonl")) return await Deno.readTextFile(`${folder}/${name}`);
  }
  return "";
}

Deno.test("a full window is summarised once, and the summary is in the next prompt", async () => {
  await withRuntime(async ({ model, runtime, home, env }) => {
    const answers: string[] = [];
    let last: TurnRecord | undefined;
    for (let turn = 1; turn <= 6; turn++) {
      model.forget();
      const answer = { kind: "answer", text: `answer ${turn}`, usage: SPENT } as const;
      const reply = (request: ModelRequest) => {
        if (!isSummaryRequest(request)) return answer;
        model.script(answer);
        return { kind: "answer", text: "GOAL: count to six", usage: SPENT } as const;
      };
      model.script(reply);
      last = await runtime.turn(`turn ${turn} ${LONG}`);
      assert.equal(last.outcome.outcome, "completed");
      answers.push(...of(last.updates, "summary").map(({ text }) => text));
      if (answers.length > 0) break;
    }
    assert.deepEqual(answers, ["GOAL: count to six"]);
    const asked = model.requests.filter(isSummaryRequest);
    assert.equal(asked.length, 1);
    assert.match(sent(asked[0] as ModelRequest), /OWNER: turn 1 lorem/);
    assert.equal(asked[0]?.body.tools?.length ?? 0, 0);
    const next = sent(model.requests.at(-1) as ModelRequest);
    assert.match(next, /Summary of the earlier conversation[^"]*GOAL: count to six/);
    assert.doesNotMatch(next, /turn 1 lorem/);
    // The summary's tokens count for the turn.
    assert.deepEqual(of(last?.updates ?? [], "usage")[0]?.models[0]?.outputTokens, 20);
    // The older messages stay in the file.
    assert.match(await sessionText(home), /turn 1 lorem/);

    Deno.kill(runtime.child.pid, "SIGKILL");
    const again = await startRuntime(home, env);
    try {
      model.forget();
      model.script({ kind: "answer", text: "still here" });
      await again.turn("and after a restart?");
      const after = sent(model.requests.at(-1) as ModelRequest);
      assert.match(after, /GOAL: count to six/);
      assert.doesNotMatch(after, /turn 1 lorem/);
      assert.equal(model.requests.filter(isSummaryRequest).length, 1);
    } finally {
      await again.session.close(GRACE_MS);
    }
  }, SMALL);
});

Deno.test("a long turn keeps its newest steps, and no call loses its result", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    await Deno.writeTextFile(`${home}/long.txt`, LONG);
    const steps = 8;
    let made = 0;
    const reply = (request: ModelRequest) => {
      model.script(reply);
      if (isSummaryRequest(request)) {
        return { kind: "answer", text: `SUMMARY after ${made}` } as const;
      }
      if (made === steps) return { kind: "answer", text: "All read." } as const;
      const command = `echo ${++made}; cat long.txt`;
      return { kind: "answer", calls: [{ tool: "bash", arguments: { command } }] } as const;
    };
    model.script(reply);
    const { outcome, updates } = await runtime.turn("read it eight times");
    assert.equal(outcome.outcome, "completed");
    assert.ok(of(updates, "summary").length >= 1);
    assert.equal(of(updates, "tool_call").length, steps);
    for (const request of model.requests.filter((each) => !isSummaryRequest(each))) {
      const { messages } = request.body as { messages: Record<string, unknown>[] };
      const calls = messages.flatMap((each) => (each.tool_calls ?? []) as { id: string }[]);
      const results = messages.filter(({ role }) => role === "tool");
      assert.deepEqual(calls.map(({ id }) => id), results.map((each) => each.tool_call_id));
      assert.match(JSON.stringify(messages[1]), /read it eight times/);
    }
    assert.match(sent(model.requests.at(-1) as ModelRequest), /SUMMARY after/);
  }, SMALL);
});

Deno.test("a summary that fails leaves out older messages, with a notice", async () => {
  await withRuntime(async ({ model, runtime }) => {
    const notices: string[] = [];
    for (let turn = 1; turn <= 6 && notices.length === 0; turn++) {
      model.forget();
      const reply = (request: ModelRequest) => {
        model.script(reply);
        return isSummaryRequest(request)
          ? { kind: "status", status: 400, body: { error: { message: "no" } } } as const
          : { kind: "answer", text: "fine" } as const;
      };
      model.script(reply);
      const { outcome, updates } = await runtime.turn(`turn ${turn} ${LONG}`);
      assert.equal(outcome.outcome, "completed");
      notices.push(...of(updates, "notice").map(({ text }) => text));
    }
    assert.match(
      notices[0] ?? "",
      /could not be summarised: .*Older messages are left out instead/,
    );
  }, SMALL);
});

Deno.test("after an overload the fallback writes the summary and continues", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    let last: TurnRecord | undefined;
    for (let turn = 1; turn <= 6 && !(await sessionText(home)).includes("GOAL"); turn++) {
      model.forget();
      const reply = (request: ModelRequest) => {
        model.script(reply);
        const usage = SPENT;
        if (!isSummaryRequest(request)) return { kind: "answer", text: "fine", usage } as const;
        return request.body.model === "other"
          ? { kind: "answer", text: "GOAL: count to six", usage } as const
          : { kind: "status", status: 529, headers: { "retry-after-ms": "1" } } as const;
      };
      model.script(reply);
      last = await runtime.turn(`turn ${turn} ${LONG}`);
      assert.equal(last.outcome.outcome, "completed");
    }
    const updates = last?.updates ?? [];
    assert.match(
      of(updates, "notice").at(-1)?.text ?? "",
      /the fallback model other continues this turn/,
    );
    assert.deepEqual(of(updates, "summary").map(({ text }) => text), ["GOAL: count to six"]);
    assert.deepEqual(
      of(updates, "usage")[0]?.models.map((each) => [each.model, each.outputTokens]),
      [["other", 20]],
    );
    assert.match(await sessionText(home), /"type":"summary".*"model":"other"/);
  }, { env: { ...SMALL.env, FLEETCTL_FALLBACK_MODEL: "other" } });
});

Deno.test("a kill during the summary loses no message, and stores one summary", async () => {
  await withRuntime(async ({ model, runtime, home, env }) => {
    model.script({ kind: "answer", text: "I know the word: KIWI" });
    await runtime.turn("remember KIWI");
    const asked = Promise.withResolvers<void>();
    model.script(() => {
      asked.resolve();
      return { kind: "hang", text: "half a summ" };
    });
    const cut = runtime.turn("/compact", undefined, "turn-c");
    await asked.promise;
    Deno.kill(runtime.child.pid, "SIGKILL");
    await cut;
    const again = await startRuntime(home, env);
    try {
      model.script({ kind: "answer", text: "The word is KIWI" });
      const { outcome, updates, text } = await again.turn("/compact", undefined, "turn-c");
      assert.equal(outcome.outcome, "completed");
      assert.equal(text, "The conversation is summarised.");
      assert.equal(of(updates, "summary").length, 1);
      // Repeated, the turn only reports its end.
      const repeated = await again.turn("/compact", undefined, "turn-c");
      assert.deepEqual(of(repeated.updates, "summary"), of(updates, "summary"));
      assert.equal(model.requests.length, 3);
      assert.equal((await sessionText(home)).match(/"type":"summary"/g)?.length, 1);
    } finally {
      await again.session.close(GRACE_MS);
    }
  });
});

Deno.test("the owner requests, reads and changes the summary", async () => {
  await withRuntime(async ({ model, runtime }) => {
    assert.match((await runtime.turn("/summary")).text, /has no summary/);
    model.script({ kind: "answer", text: "noted" });
    await runtime.turn("the colour is blue");
    model.script({ kind: "answer", text: "- Goals: the colour is blue" });
    const made = await runtime.turn("/compact the colour");
    assert.equal(made.text, "The conversation is summarised.");
    assert.match(sent(model.requests.at(-1) as ModelRequest), /asks you to keep: the colour/);
    assert.equal((await runtime.turn("/summary")).text, "- Goals: the colour is blue");
    const changed = await runtime.turn("/summary\n- Goals: the colour is red");
    assert.equal(of(changed.updates, "summary")[0]?.by, "owner");
    assert.match((await runtime.turn(`/summary ${"x".repeat(20_000)}`)).text, /is unchanged/);
    model.script({ kind: "answer", text: "red" });
    await runtime.turn("which colour?");
    const next = sent(model.requests.at(-1) as ModelRequest);
    assert.match(next, /the colour is red/);
    assert.doesNotMatch(next, /noted|is blue\\n/);
  });
});
