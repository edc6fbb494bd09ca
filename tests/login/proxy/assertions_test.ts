/**
 * Assertions: valid for exactly one request of one principal, and reused only for a short time.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseAssertionKeys, verifyAssertion } from "core/access/assertion.ts";
import { createAssertions } from "login/proxy/assertions.ts";
import { fakeClock } from "tests/fakes/clock.ts";

const REQUEST = { subject: "mia@example.org", method: "GET", path: "/api/agents" };

Deno.test("createAssertions() reuses the assertion of a request for ten seconds", async () => {
  const keys = await parseAssertionKeys("an-assertion-key-of-the-tests");
  assert.ok(keys.ok);
  const clock = fakeClock();
  const assertions = createAssertions(keys.value, clock);
  const first = await assertions(REQUEST);
  for (const other of [{ subject: "bob@example.org" }, { method: "POST" }, { path: "/api" }]) {
    assert.notEqual(await assertions({ ...REQUEST, ...other }), first);
  }
  await clock.advance(9_999);
  assert.equal(await assertions(REQUEST), first);
  await clock.advance(1);
  const second = await assertions(REQUEST);
  assert.notEqual(second, first);
  clock.setNow(clock.now() - 3_600_000);
  const third = await assertions(REQUEST);
  const verified = await verifyAssertion(keys.value, third, { ...REQUEST, nowMs: clock.now() });
  assert.deepEqual(verified, { ok: true, value: REQUEST.subject }, "after the clock was set back");
});
