/**
 * The key that identifies a repeated invoke: equal for the same press, different for another press,
 * and always short.
 *
 * @module
 */

import assert from "node:assert/strict";
import { invokeKey, parseActivity } from "core/teamchat/activity.ts";

function key(value: unknown, more: Readonly<Record<string, unknown>> = {}): string {
  const parsed = parseActivity(JSON.stringify({
    type: "invoke",
    id: "f:1",
    channelId: "msteams",
    serviceUrl: "https://smba.test/",
    from: { id: "29:1" },
    conversation: { id: "a:1" },
    name: "adaptiveCard/action",
    value,
    ...more,
  }));
  assert.ok(parsed.ok);
  return invokeKey(parsed.value);
}

const long = (end: string) => ({ data: `${"x".repeat(200_000)}${end}` });

Deno.test("invokeKey() of a short value is the value itself", () => {
  assert.equal(key({ a: 1 }), 'invoke|a:1|29:1||adaptiveCard/action|{"a":1}');
  assert.equal(key({ a: 1 }, { id: "f:2" }), key({ a: 1 }));
});

Deno.test("invokeKey() of a long value is short, and the same for the same alone", () => {
  assert.equal(key(long("a")), key(long("a")));
  assert.ok(key(long("a")).length < 128);
  const others = [long("b"), { data: "x".repeat(200_000) }, [long("a")]];
  const keys = new Set([long("a"), ...others].map((value) => key(value)));
  assert.equal(keys.size, 4);
});
