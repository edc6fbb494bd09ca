/**
 * The whole loop against an endpoint that refuses, is late, breaks off or sends nonsense, and with
 * invalid settings: what is retried, and how a failed turn is reported.
 *
 * @module
 */

import assert from "node:assert/strict";
import { startFakeModel } from "tests/fakes/model_endpoint.ts";
import { of, withRuntime } from "tests/support/runtime_scene.ts";

const KEY = "key-0123456789";

/** Replies that fail a turn, with its code and reason. */
const FAILURES = [
  {
    reply: {
      kind: "status" as const,
      status: 401,
      body: { error: { message: `Incorrect API key provided: ${KEY}` } },
    },
    code: "model-unauthorized",
    reason:
      /answered 401: Incorrect API key provided: \*\*\*.*fleetctl secret set FLEETCTL_MODEL_KEY --agent ada/,
  },
  {
    reply: { kind: "status" as const, status: 404 },
    code: "model-not-found",
    reason: /answered 404: status 404 \(model "fake"\)/,
  },
  {
    reply: { kind: "status" as const, status: 429, headers: { "retry-after": "3600" } },
    code: "model-rate-limited",
    reason: /given up because it requests a wait of 3600 s/,
  },
  {
    reply: { kind: "cut" as const, text: "Once upon a time there was " },
    code: "model-stream-cut",
    reason: /stopped before the answer was complete/,
  },
  {
    reply: { kind: "cut" as const, text: "Once upon a time ", cleanly: true },
    code: "model-stream-cut",
    reason: /stopped before the answer was complete/,
  },
  {
    reply: { kind: "garbage" as const, body: 'data: {"nonsense": tru\n\n' },
    code: "model-garbage",
    reason: /not a model answer/,
  },
  {
    reply: {
      kind: "garbage" as const,
      body: "<html>login</html>",
      contentType: "text/html",
    },
    code: "model-garbage",
    reason: /web page/,
  },
  {
    reply: { kind: "answer" as const, text: "too long", finish: "length" as const },
    code: "model-output-limit",
    reason: /output limit/,
  },
];

Deno.test("429 and 5xx are retried, with a notice each time", async () => {
  await withRuntime(async ({ model, runtime }) => {
    const body = { error: { message: "slow down", type: "rate_limit_error" } };
    model.script(
      { kind: "status", status: 429, headers: { "retry-after": "0" }, body },
      { kind: "status", status: 503, headers: { "retry-after-ms": "1" } },
      { kind: "answer", text: "finally" },
    );
    const { outcome, updates, text } = await runtime.turn("go");
    assert.deepEqual(outcome, { outcome: "completed" });
    assert.equal(text, "finally");
    const notices = of(updates, "notice").map((notice) => notice.text);
    assert.equal(notices.length, 2);
    assert.match(
      notices[0] ?? "",
      /answered 429: slow down.*trying again in 0\.0 s \(attempt 2 of 5\)/,
    );
    assert.match(notices[1] ?? "", /answered 503.*attempt 3 of 5/);
  });
});

Deno.test("a failing endpoint ends the turn with code, reason, hint; the next works", async () => {
  await withRuntime(async ({ model, runtime }) => {
    for (const { reply, code, reason } of FAILURES) {
      model.script(...Array.from({ length: 5 }, () => reply));
      const { outcome } = await runtime.turn("go");
      assert.deepEqual([outcome.outcome, outcome.code], ["failed", code], outcome.reason ?? "");
      assert.match(outcome.reason ?? "", reason);
      assert.ok(!(outcome.reason ?? "").includes(KEY));
      model.forget();
    }
    model.script({ kind: "answer", text: "well again" });
    const { text } = await runtime.turn("still there?");
    assert.equal(text, "well again");
    const roles = model.requests.at(-1)?.body.messages.map((each: { role: string }) => each.role);
    roles.forEach((role: string, at: number) => {
      if (at > 0) assert.notEqual(role, roles[at - 1], "owner and assistant take turns");
    });
  });
});

Deno.test("an endpoint that is down ends the turn as unreachable", async () => {
  const closed = await startFakeModel();
  await closed.close();
  await withRuntime(async ({ runtime }) => {
    const { outcome, updates } = await runtime.turn("go");
    assert.deepEqual([outcome.outcome, outcome.code], ["failed", "model-unreachable"]);
    assert.match(outcome.reason ?? "", /127\.0\.0\.1:\d+ cannot be reached/);
    assert.equal(of(updates, "notice").length, 2);
  }, { env: { FLEETCTL_BASE_URL: closed.baseUrl } });
});

Deno.test("invalid settings end each turn with every fault", async () => {
  await withRuntime(async ({ runtime }) => {
    const { outcome } = await runtime.turn("go");
    assert.deepEqual([outcome.outcome, outcome.code], ["failed", "settings-invalid"]);
    assert.match(outcome.reason ?? "", /FLEETCTL_MODEL: not set/);
    assert.match(outcome.reason ?? "", /ANTHROPIC_API_KEY: not set/);
  }, { env: { FLEETCTL_PROVIDER: "anthropic", FLEETCTL_MODEL: "", FLEETCTL_MODEL_KEY: "" } });
});
