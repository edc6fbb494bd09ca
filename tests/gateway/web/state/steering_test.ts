/**
 * When the page offers to send a waiting message now.
 *
 * @module
 */

import assert from "node:assert/strict";
import { canSendNow } from "gateway/web/state/steering.ts";

const running = { turnId: "t1", state: "working", conversation: "", acceptsMessages: true };
const waiting = { turnId: "t2", state: "delivered", conversation: "", acceptsMessages: false };

for (
  const [name, change, base, wanted] of [
    ["a waiting message and a turn that accepts it", {}, running, true],
    ["no running turn", {}, undefined, false],
    ["a message that its agent does not have yet", { state: "sent" }, running, false],
    ["a message of another conversation", { conversation: "trip" }, running, false],
    ["a program that accepts none", {}, { ...running, acceptsMessages: false }, false],
    ["a turn in front that does not run", {}, { ...running, state: "delivered" }, false],
    ["the message of that turn", { turnId: "t1" }, running, false],
  ] as const
) {
  Deno.test(`canSendNow() is ${wanted} with ${name}`, () => {
    assert.equal(canSendNow({ ...waiting, ...change }, base), wanted);
  });
}
