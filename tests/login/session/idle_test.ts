/**
 * The idle timeout of a session: requests extend it, open streams do not, and it survives a
 * restart.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createLoginRig } from "tests/support/login_fixture.ts";

/** A tenth of the idle timeout, in milliseconds. */
const STEP = 6_000;

async function idleRig() {
  const rig = await createLoginRig({
    env: { WEBVIEW_SESSION_IDLE: "1m", WEBVIEW_SESSION_TTL: "6m" },
    cockpit: (request) =>
      request.url.endsWith("/events") ? new Response(new ReadableStream()) : new Response("ok"),
  });
  const cookie = await rig.session();
  const status = async () => {
    const answer = await rig.ask("/api/x", { headers: { cookie } });
    await answer.body?.cancel();
    return answer.status;
  };
  return { rig, cookie, status };
}

Deno.test("a used session stays, an idle one ends, and the cockpit sees none of it", async () => {
  const { rig, status } = await idleRig();
  for (let step = 0; step < 24; step += 8) {
    await rig.host.clock.advance(8 * STEP);
    assert.equal(await status(), 200, `after step ${step + 8}`);
  }
  const seen = rig.seen.length;
  await rig.host.clock.advance(11 * STEP);
  assert.equal(await status(), 401);
  assert.equal(rig.seen.length, seen);
});

Deno.test("a session never lasts longer than its lifetime, however it is used", async () => {
  const { rig, status } = await idleRig();
  for (let step = 0; step < 56; step += 8) {
    await rig.host.clock.advance(8 * STEP);
    assert.equal(await status(), 200);
  }
  await rig.host.clock.advance(5 * STEP);
  assert.equal(await status(), 401);
});

Deno.test("an open stream does not count as use of its session, and ends with it", async () => {
  const { rig, cookie, status } = await idleRig();
  const answer = await rig.ask("/events", { headers: { cookie } });
  const reader = answer.body!.getReader();
  const ended = reader.read().then(() => "end", () => "cut");
  await rig.host.clock.advance(8 * STEP);
  assert.equal(rig.leases.count(), 1);
  assert.equal(await status(), 200, "a request beside it keeps both");
  await rig.host.clock.advance(8 * STEP);
  assert.equal(rig.leases.count(), 1);
  await rig.host.clock.advance(3 * STEP);
  assert.equal(rig.leases.count(), 0);
  assert.equal(await ended, "cut");
  assert.equal(await status(), 401);
});

Deno.test("without the setting a session may stay idle", async () => {
  const rig = await createLoginRig({ env: { WEBVIEW_SESSION_TTL: "30d" } });
  const cookie = await rig.session();
  await rig.host.clock.advance(29 * 86_400_000);
  assert.equal((await rig.ask("/api/x", { headers: { cookie } })).status, 200);
});
