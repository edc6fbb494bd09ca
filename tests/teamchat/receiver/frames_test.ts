/**
 * What the sender accepts as a question. The receiver is exposed to strangers, so its lines may
 * contain anything.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseRequest } from "teamchat/handover/frames.ts";

const GOOD = { type: "activity", n: 1, body: "{}", received: 1_700_000_000_000, key: "k" };

const BAD: readonly (readonly [string, unknown])[] = [
  ["no object", 5],
  ["nothing", null],
  ["another type", { ...GOOD, type: "secret" }],
  ["no number", { ...GOOD, n: "1" }],
  ["a body that is not text", { ...GOOD, body: {} }],
  ["a key that is too long", { ...GOOD, key: "k".repeat(65) }],
  ["a time before 1970", { ...GOOD, received: -1 }],
  ["a time long before 1970", { ...GOOD, received: -1e308 }],
  ["half a millisecond", { ...GOOD, received: 1.5 }],
  ["a time that is not a safe integer", { ...GOOD, received: 2 ** 60 }],
  ["a time as text", { ...GOOD, received: "1" }],
];

Deno.test("a valid request of the receiver is parsed", () => {
  assert.deepEqual(parseRequest(JSON.stringify(GOOD)), GOOD);
});

for (const [name, value] of BAD) {
  Deno.test(`an invalid request of the receiver is refused: ${name}`, () => {
    assert.equal(parseRequest(JSON.stringify(value)), undefined);
  });
}
