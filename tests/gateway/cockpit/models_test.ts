/**
 * The model routes, with a scripted daemon: what the daemon receives, which parts of its answers
 * reach a page, and that a key appears only in its stdin.
 *
 * @module
 */

import assert from "node:assert/strict";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import type { VerbCall } from "gateway/daemon_verbs.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { connectBare, startTestGateway, type TestGateway } from "tests/support/gateway_fixture.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;
const KEY = "sk-0123456789abcdefghijWXYZ";
const CARD = {
  agent: "mia",
  provider: "anthropic",
  model: "big-1",
  base_url: "https://api.anthropic.com/v1",
  key: "set",
  key_ends_with: "WXYZ",
};

async function withDesk(
  answer: (call: VerbCall) => Promise<Result<unknown>> | Result<unknown>,
  tell: (of: {
    readonly running: TestGateway;
    readonly calls: readonly VerbCall[];
    readonly logged: () => string;
    readonly post: (body: unknown) => Promise<Response>;
  }) => Promise<void>,
): Promise<void> {
  const calls: VerbCall[] = [];
  const log = recordingLog();
  await using running = await startTestGateway({
    host: { ...memoryHost(), log },
    verbs: { run: async (call) => (calls.push(call), await answer(call)) },
  });
  await tell({
    running,
    calls,
    logged: () => JSON.stringify(log.lines),
    post: (body) =>
      fetch(`${running.cockpitUrl}/api/model`, {
        method: "POST",
        headers: { "x-user-email": "mia@example.org", "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
  });
}

Deno.test({
  name: "POST /api/model passes the key over stdin only, and does not return it",
  ...SAFE,
  fn: () =>
    withDesk(
      () => ok({ ...CARD, changed: true, restarted: true }),
      async ({ calls, post, logged }) => {
        const answered = await post({
          agent: "mia",
          provider: "anthropic",
          model: "big-1",
          key: KEY,
        });
        assert.equal(answered.status, 200);
        const body = await answered.text();
        assert.deepEqual(JSON.parse(body), CARD);
        assert.equal(calls[0]?.stdin, KEY);
        const words = "agents model set --json --provider anthropic --model=big-1 --key - -- mia";
        assert.deepEqual(calls[0]?.argv, words.split(" "));
        assert.ok(!logged().includes(KEY) && !body.includes(KEY));
      },
    ),
});

Deno.test({
  name: "POST /api/model omits an absent key, and the check if requested",
  ...SAFE,
  fn: () =>
    withDesk(() => ok(CARD), async ({ calls, post }) => {
      const base = { agent: "mia", provider: "openai-compatible", model: "m" };
      const answered = await post({
        ...base,
        base_url: "http://127.0.0.1:1/v1",
        key: " ",
        check: false,
      });
      assert.equal(answered.status, 200);
      await answered.body?.cancel();
      assert.deepEqual(calls[0]?.argv.slice(3), [
        "--json",
        "--provider",
        "openai-compatible",
        "--model=m",
        "--base-url=http://127.0.0.1:1/v1",
        "--no-check",
        "--no-key",
        "--",
        "mia",
      ]);
      assert.equal(calls[0]?.stdin, undefined);
    }),
});

const BAD: readonly [name: string, body: unknown, field: RegExp][] = [
  ["an unknown provider", { agent: "mia", provider: "x" }, /^body.provider/],
  [
    "a key that is too long",
    { agent: "mia", provider: "demo", key: "k".repeat(9_000) },
    /^body.key/,
  ],
  [
    "a model that is too long",
    { agent: "mia", provider: "demo", model: "m".repeat(300) },
    /^body.model/,
  ],
  ["a check that is not a boolean", { agent: "mia", provider: "demo", check: "no" }, /^body.check/],
];
for (const [name, body, field] of BAD) {
  Deno.test({
    name: `POST /api/model refuses ${name} without calling the daemon`,
    ...SAFE,
    fn: () =>
      withDesk(() => ok(CARD), async ({ calls, post }) => {
        const answered = await post(body);
        assert.equal(answered.status, 400);
        const problem = await answered.json() as { readonly errors: readonly string[] };
        assert.match(problem.errors[0] ?? "", field);
        assert.equal(calls.length, 0);
      }),
  });
}

Deno.test({
  name: "POST /api/model reports an endpoint's refusal, field by field",
  ...SAFE,
  fn: () =>
    withDesk(
      () =>
        err(refusal("model-unauthorized", "Cannot connect", { details: ["key: is not accepted"] })),
      async ({ post }) => {
        const answered = await post({ agent: "mia", provider: "anthropic", model: "m", key: KEY });
        assert.equal(answered.status, 422);
        const problem = await answered.json() as Record<string, unknown>;
        assert.equal(problem.code, "model-unauthorized");
        assert.deepEqual(problem.errors, ["key: is not accepted"]);
      },
    ),
});

Deno.test({
  name: "POST /api/model refuses a change during a turn, and a second change at the same time",
  ...SAFE,
  fn: () => {
    const gate = Promise.withResolvers<void>();
    return withDesk(
      async () => (await gate.promise, ok(CARD)),
      async ({ running, calls, post }) => {
        const body = { agent: "mia", provider: "demo" };
        const first = post(body);
        while (calls.length === 0) await new Promise((go) => setTimeout(go, 5));
        const second = await post(body);
        assert.equal(second.status, 429);
        assert.equal((await second.json() as { code: string }).code, "model-change-running");
        gate.resolve();
        await (await first).body?.cancel();
        const agent = await connectBare(running.dialUrl);
        agent.send({ type: "register", user_email: "mia@example.org", agent: "mia", epoch: "e" });
        await agent.next("registered");
        const turn = await fetch(`${running.cockpitUrl}/api/turns`, {
          method: "POST",
          headers: {
            "x-user-email": "mia@example.org",
            "content-type": "application/json",
            "idempotency-key": "one",
          },
          body: JSON.stringify({ agent: "mia", text: "work" }),
        });
        await turn.body?.cancel();
        const { turn_id } = await agent.next("turn");
        agent.send({ type: "turn_accepted", turn_id });
        agent.send({
          type: "event",
          event: { seq: 1, kind: "turn_started", payload: {}, at: 1, turn_id },
        });
        await agent.next("ack");
        const third = await post(body);
        assert.equal(third.status, 409);
        assert.equal((await third.json() as { code: string }).code, "agent-working");
        assert.equal(calls.length, 1);
        agent.connection.close(1000, "over");
        await agent.closed;
      },
    );
  },
});

Deno.test({
  name: "GET /api/model returns only the documented fields of the daemon's answer",
  ...SAFE,
  fn: () =>
    withDesk(() => ok({ ...CARD, value: KEY }), async ({ running, calls }) => {
      const answered = await fetch(`${running.cockpitUrl}/api/model?agent=mia`, {
        headers: { "x-user-email": "mia@example.org" },
      });
      assert.deepEqual(await answered.json(), CARD);
      assert.deepEqual(calls[0]?.argv, ["agents", "model", "show", "--json", "--", "mia"]);
    }),
});

Deno.test({
  name: "GET /api/model reports an answer of the daemon that is not a model",
  ...SAFE,
  fn: () =>
    withDesk(() => ok({ agent: "mia" }), async ({ running }) => {
      const answered = await fetch(`${running.cockpitUrl}/api/model?agent=mia`, {
        headers: { "x-user-email": "mia@example.org" },
      });
      assert.equal(answered.status, 502);
      await answered.body?.cancel();
    }),
});
