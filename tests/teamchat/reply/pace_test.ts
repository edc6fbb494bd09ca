/**
 * The queue of all conversations before the platform: owners take turns, requests keep their order
 * and the configured pace, and no waiting request is woken needlessly.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createMetrics } from "teamchat/metrics.ts";
import { createConnector } from "teamchat/reply/connector.ts";
import type { ReplyContext } from "teamchat/store/turn.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { fakeHttp } from "tests/fakes/http.ts";
import { recordingLog } from "tests/fakes/log.ts";

function siteOf(n: number): ReplyContext {
  return {
    base: "http://127.0.0.1:9/teams",
    conversation: `a:${n}`,
    type: "personal",
    bot: { id: "28:bot" },
    user: { id: `29:${n}` },
  };
}

Deno.test("two hundred conversations are sent in order, forty a second, on one timer", async () => {
  const clock = fakeClock();
  const sent: { readonly n: number; readonly at: number }[] = [];
  let [sleeps, timers] = [0, 0];
  const connector = createConnector({
    hosts: { mode: "local" },
    tokens: undefined,
    sendsPerSecond: 40,
    http: fakeHttp((request) => {
      const n = Number(/a%3A(\d+)/.exec(request.url)?.[1]);
      sent.push({ n, at: clock.monotonic() });
      return Response.json({ id: "x" }, { status: 201 });
    }),
    clock: {
      ...clock,
      sleep: (ms, signal) => {
        sleeps++;
        return clock.sleep(ms, signal);
      },
      after: (ms, run) => {
        // Skip the time limits of requests, which are longer than the second that the pace plans
        // ahead.
        if (ms <= 1_000) timers++;
        return clock.after(ms, run);
      },
    },
    metrics: createMetrics(),
    log: recordingLog(),
  });
  const first = clock.monotonic();
  const calls = Array.from(
    { length: 200 },
    (_, n) => connector.call({ context: siteOf(n), method: "POST", body: {}, what: "message" }),
  );
  await clock.advance(6_000);
  await Promise.all(calls);
  assert.deepEqual(sent.map(({ n }) => n), Array.from({ length: 200 }, (_, n) => n));
  // One timer per second for all waiting requests: none is woken needlessly.
  assert.deepEqual([sleeps, timers], [0, 4]);
  for (const [place, { at }] of sent.entries()) {
    assert.ok(
      at - first >= Math.floor(place / 40) * 1_000,
      `request ${place} after ${at - first} ms`,
    );
  }
});
