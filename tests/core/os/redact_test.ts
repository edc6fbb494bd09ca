/**
 * @module
 */

import assert from "node:assert/strict";
import { isSecretName, redactFields } from "core/os/redact.ts";

Deno.test("isSecretName() recognizes names of secrets, and no names of keys", () => {
  for (
    const name of [
      "token",
      "accessToken",
      "registration_token",
      "client_secret",
      "password",
      "Authorization",
      "set-cookie",
      "cookies",
      "api_key",
      "apiKey",
      "WEBVIEW_HMAC_KEY",
      "private_key",
      "key_value",
      "dialKey",
      "assertion",
      "credentials",
    ]
  ) assert.equal(isSecretName(name), true, name);
  for (
    const name of [
      "agent",
      "key",
      "keys",
      "public_key",
      "publicKey",
      "event",
      "monkey_count",
      "mcp",
      "path",
    ]
  ) assert.equal(isSecretName(name), false, name);
});

Deno.test("redactFields() removes values at every depth", () => {
  const fields = {
    agent: "ada",
    request: { headers: [{ authorization: "Bearer abcdef123456", accept: "*/*" }] },
    tokens: 812,
    has_secret: true,
  };
  assert.deepEqual(redactFields(fields), {
    agent: "ada",
    request: { headers: [{ authorization: "[redacted]", accept: "*/*" }] },
    tokens: 812,
    has_secret: true,
  });
});

Deno.test("redactFields() removes secrets from longer texts", () => {
  const rows: readonly (readonly [given: string, want: string])[] = [
    ["sent Authorization: Bearer eyJhbGciOi.x-y", "sent Authorization: Bearer [redacted]"],
    ["GET https://u:p4ss@host/x failed", "GET https://[redacted]@host/x failed"],
    ["/cb?code=abc123&state=1", "/cb?code=[redacted]&state=1"],
    ["https://x/?a=1&access_token=zzz", "https://x/?a=1&access_token=[redacted]"],
    ["mail mia@example.org", "mail mia@example.org"],
  ];
  for (const [given, want] of rows) assert.deepEqual(redactFields({ text: given }), { text: want });
});

Deno.test("redactFields() prints errors with code and cause, without secrets", () => {
  const error = Object.assign(new Error("no Bearer abcdefghij", { cause: new Error("why") }), {
    code: "EIO",
  });
  const { error: safe } = redactFields({ error }) as { error: Record<string, unknown> };
  assert.equal(safe["message"], "no Bearer [redacted]");
  assert.equal(safe["code"], "EIO");
  assert.equal((safe["cause"] as { message: string }).message, "why");
  assert.equal(JSON.stringify(safe).includes("abcdefghij"), false);
});

Deno.test("redactFields() accepts any value", () => {
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  const throwing = {
    get bad(): string {
      throw new Error("no");
    },
  };
  const deep = { a: { b: { c: { d: { e: { f: { g: 1 } } } } } } };
  const safe = redactFields({
    loop,
    throwing,
    deep,
    big: 10n,
    bytes: new Uint8Array(3),
    nan: NaN,
    none: undefined,
    nothing: null,
    call: () => 1,
    long: "x".repeat(10_000),
    many: Array.from({ length: 200 }, (_, index) => index),
    date: new Date(0),
    map: new Map([["TOKEN_NAME", "value"]]),
  });
  const text = JSON.stringify(safe);
  assert.deepEqual(safe["loop"], { self: "[circular]" });
  assert.equal(safe["throwing"], "[unreadable]");
  assert.equal(safe["big"], "10");
  assert.equal(safe["bytes"], "[3 bytes]");
  assert.equal("none" in safe, false);
  assert.equal(text.includes("[deep]"), true);
  assert.equal((safe["many"] as unknown[]).length, 101);
  assert.equal((safe["long"] as string).length < 5_000, true);
  assert.deepEqual(safe["map"], ["TOKEN_NAME"]);
});
