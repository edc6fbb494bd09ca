/**
 * A short question to a dial unit ends in time, even if the process behind the socket never
 * answers.
 *
 * @module
 */

import assert from "node:assert/strict";
import { listApprovals, sendDecision } from "core/dial/ask_human.ts";
import type { QueryTarget } from "core/dial/local_query.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import type { Result } from "core/result.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { answeringStream } from "tests/support/line_stream.ts";

const DECISION = { id: "a1", digest: "d", decision: "approved", by: "the operator" } as const;
const QUESTIONS: Readonly<Record<string, (at: QueryTarget) => Promise<Result<unknown>>>> = {
  "listApprovals()": listApprovals,
  "sendDecision()": (at) => sendDecision(at, DECISION),
};

for (const [name, ask] of Object.entries(QUESTIONS)) {
  Deno.test(`${name} gives up on a socket that accepts and never answers`, async () => {
    const clock = fakeClock();
    const stream = answeringStream(undefined);
    const asked = ask({ socket: "/s", connect: () => Promise.resolve(stream), clock });
    await clock.advance(3_000);
    const answer = await asked;
    assert.ok(!answer.ok);
    assert.equal(answer.error.code, "dial-unreachable");
    assert.match(answer.error.message, /did not answer within 3 s/);
    assert.ok(stream.isClosed);
    assert.equal(clock.pending(), 0);
  });

  Deno.test(`${name} closes a connection that is made after it gave up`, async () => {
    const clock = fakeClock();
    const stream = answeringStream(undefined);
    const made = Promise.withResolvers<ByteStream>();
    const asked = ask({ socket: "/s", connect: () => made.promise, clock });
    await clock.advance(3_000);
    const answer = await asked;
    assert.ok(!answer.ok && answer.error.code === "dial-unreachable");
    made.resolve(stream);
    await clock.advance(0);
    assert.ok(stream.isClosed);
  });
}

Deno.test("listApprovals() leaves no timer behind an answer", async () => {
  const clock = fakeClock();
  const stream = answeringStream({ type: "approvals_result", approvals: [] });
  const listed = await listApprovals({ socket: "/s", connect: async () => stream, clock });
  assert.deepEqual(listed, { ok: true, value: [] });
  assert.ok(stream.isClosed);
  assert.equal(clock.pending(), 0);
});
