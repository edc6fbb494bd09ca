/**
 * The code of each endpoint failure, and whether it is retried.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import type { ModelSettings } from "units/agent_loop/settings.ts";
import {
  type FaultContext,
  judgeError,
  type ModelFault,
  parseRetryAfter,
  silentFault,
  streamCutFault,
} from "units/agent_loop/model/fault.ts";
import { decideRetry, RETRY_LIMITS } from "units/agent_loop/model/retry.ts";

const SETTINGS: ModelSettings = {
  provider: "openai-compatible",
  model: "fake",
  baseUrl: "http://model.example:8080/v1",
  key: "secret-key-1",
  keyName: "FLEETCTL_MODEL_KEY",
  contextTokens: 128_000,
  outputTokens: undefined,
  accepts: [],
  effort: undefined,
  fallback: undefined,
};
const CONTEXT: FaultContext = { settings: SETTINGS, agent: "ada", now: 0, hasStarted: false };

function apiError(statusCode: number, body: unknown, responseHeaders: Record<string, string> = {}) {
  const responseBody = typeof body === "string" ? body : JSON.stringify(body);
  return Object.assign(new Error("call failed"), { statusCode, responseBody, responseHeaders });
}
function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}
const message = (text: string, code?: string) => ({
  error: { message: text, ...defined({ code }) },
});

const ROWS: readonly (readonly [unknown, ModelFault["code"], boolean, RegExp])[] = [
  [
    apiError(401, message("no")),
    "model-unauthorized",
    false,
    /model\.example:8080 answered 401: no/,
  ],
  [apiError(403, "<html>"), "model-unauthorized", false, /answered 403/],
  [apiError(402, message("pay")), "model-quota-exhausted", false, /402/],
  [apiError(429, message("over", "insufficient_quota")), "model-quota-exhausted", false, /over/],
  [apiError(429, message("slow")), "model-rate-limited", true, /slow/],
  [apiError(404, message("no model")), "model-not-found", false, /\(model "fake"\)/],
  [apiError(408, ""), "model-overloaded", true, /408/],
  [apiError(500, ""), "model-overloaded", true, /500/],
  [apiError(529, message("busy")), "model-overloaded", true, /busy/],
  [apiError(400, message("bad tool")), "model-request-refused", false, /bad tool/],
  [
    apiError(400, message("maximum context length is 8192 tokens", "context_length_exceeded")),
    "model-context-exceeded",
    false,
    /8192/,
  ],
  [
    apiError(400, message("prompt is too long: 210000 tokens")),
    "model-context-exceeded",
    false,
    /./,
  ],
  [apiError(413, ""), "model-context-exceeded", false, /413/],
  [
    new TypeError("error sending request: connection refused"),
    "model-unreachable",
    true,
    /reached/,
  ],
  [named("AI_JSONParseError", "Unexpected token <"), "model-garbage", false, /not a model answer/],
  [
    new Error("error reading a body from connection"),
    "model-stream-cut",
    true,
    /stopped before the answer was complete/,
  ],
  [
    named("AI_InvalidResponseDataError", "ended without a finish reason"),
    "model-stream-cut",
    true,
    /./,
  ],
  [{ type: "overloaded_error", message: "Overloaded" }, "model-overloaded", true, /reported/],
  [{ message: "policy" }, "model-request-refused", false, /policy/],
];

for (const [error, code, isRetryable, reason] of ROWS) {
  Deno.test(`judgeError() calls ${JSON.stringify(error)?.slice(0, 80)} ${code}`, () => {
    const fault = judgeError(error, CONTEXT);
    assert.equal(fault.code, code, fault.reason);
    assert.equal(fault.isRetryable, isRetryable);
    assert.match(fault.reason, reason);
  });
}

Deno.test("judgeError() never repeats a key, and keeps messages short", () => {
  const fault = judgeError(
    apiError(401, message(`bad key secret-key-1 and sk-abcdefghijkl ${"x".repeat(5_000)}`)),
    CONTEXT,
  );
  assert.ok(!fault.reason.includes("secret-key-1"));
  assert.ok(!fault.reason.includes("abcdefghijkl"));
  assert.ok(fault.reason.length < 600);
  assert.deepEqual(fault.hints, [
    "fleetctl secret set FLEETCTL_MODEL_KEY --agent ada",
  ]);
});

Deno.test("judgeError() treats any failure after the first text as a cut stream", () => {
  const fault = judgeError(new Error("whatever"), { ...CONTEXT, hasStarted: true });
  assert.equal(fault.code, "model-stream-cut");
});

Deno.test("silentFault() and streamCutFault() name the endpoint", () => {
  assert.equal(
    silentFault(CONTEXT, 300).reason,
    "The model endpoint model.example:8080 sent nothing for 300 s",
  );
  assert.match(streamCutFault(CONTEXT).reason, /without a finish reason/);
});

Deno.test("parseRetryAfter() reads seconds, milliseconds and dates", () => {
  const date = new Date(90_000).toUTCString();
  const rows: readonly (readonly [Record<string, string>, number | undefined])[] = [
    [{}, undefined],
    [{ "retry-after": "3" }, 3_000],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after-ms": "250", "retry-after": "3" }, 250],
    [{ "retry-after": date }, 90_000],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "-5" }, undefined],
  ];
  for (const [headers, wanted] of rows) {
    assert.equal(parseRetryAfter(headers, 0), wanted, JSON.stringify(headers));
  }
});

function retryable(more: Partial<ModelFault> = {}): ModelFault {
  return {
    code: "model-overloaded",
    reason: "",
    hints: [],
    isRetryable: true,
    retryAfterMs: undefined,
    ...more,
  };
}

Deno.test("decideRetry() doubles its waits with jitter and stops after its attempts", () => {
  const waits = [1, 2, 3, 4, 5].map((attempt) =>
    decideRetry(retryable(), { attempt, waitedMs: 0, jitter: 0 })
  );
  assert.deepEqual(waits, [
    { retry: true, waitMs: 500 },
    { retry: true, waitMs: 1_000 },
    { retry: true, waitMs: 2_000 },
    { retry: true, waitMs: 4_000 },
    { retry: false, why: "after 5 attempts" },
  ]);
});

Deno.test("decideRetry() honours Retry-After or gives up, and bounds the time waited", () => {
  const state = { attempt: 1, waitedMs: 0, jitter: 0 };
  assert.deepEqual(decideRetry(retryable({ retryAfterMs: 7_000 }), state), {
    retry: true,
    waitMs: 7_000,
  });
  assert.deepEqual(decideRetry(retryable({ retryAfterMs: 61_000 }), state), {
    retry: false,
    why: "because it requests a wait of 61 s",
  });
  const waited = { ...state, waitedMs: RETRY_LIMITS.waitedMsMax };
  assert.equal(decideRetry(retryable(), waited).retry, false);
  assert.deepEqual(decideRetry(retryable({ isRetryable: false }), state), {
    retry: false,
    why: "",
  });
});

Deno.test("decideRetry() tries an unreachable address only a few times", () => {
  const fault = retryable({ code: "model-unreachable" });
  assert.equal(decideRetry(fault, { attempt: 3, waitedMs: 0, jitter: 0 }).retry, false);
});

Deno.test("judgeError() names a refused effort only if one is set", () => {
  const refused = apiError(400, message("reasoning_effort is not supported"));
  assert.equal(judgeError(refused, CONTEXT).code, "model-request-refused");
  const settings = { ...SETTINGS, effort: "high" as const };
  const fault = judgeError(refused, { ...CONTEXT, settings });
  assert.equal(fault.code, "model-effort-refused");
  assert.match(fault.hints.join(), /secret unset FLEETCTL_EFFORT --agent ada/);
  const other = judgeError(apiError(400, message("bad tool")), { ...CONTEXT, settings });
  assert.equal(other.code, "model-request-refused");
});
