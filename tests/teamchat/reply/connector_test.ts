/**
 * Requests that cannot be built: they fail without sending anything, and other requests continue.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createMetrics } from "teamchat/metrics.ts";
import { type Call, createConnector } from "teamchat/reply/connector.ts";
import type { ReplyContext } from "teamchat/store/turn.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { fakeHttp } from "tests/fakes/http.ts";
import { recordingLog } from "tests/fakes/log.ts";

const BASE = "https://smba.test/teams";

/** Conversation, message, and the expected path of the request; undefined: nothing is sent. */
const ROWS: readonly (readonly [string, string | undefined, string | undefined])[] = [
  ["a:1", undefined, "/a%3A1/activities"],
  ["a:1", "f:1/../2", "/a%3A1/activities/f%3A1%2F..%2F2"],
  ["../../v3/attachments", undefined, "/..%2F..%2Fv3%2Fattachments/activities"],
  ["...", undefined, "/.../activities"],
  ["a:\ud800", undefined, undefined],
  ["\udc00\ud800", undefined, undefined],
  ["a:1", "17\udfff", undefined],
  ["..", undefined, undefined],
  [".", undefined, undefined],
  ["a:1", "..", undefined],
  ["a:1", "", undefined],
];

for (const [conversation, activity, path] of ROWS) {
  const name = JSON.stringify([conversation, activity]);
  Deno.test(`a request to ${name} goes ${path === undefined ? "nowhere" : "there"}`, async () => {
    const clock = fakeClock();
    const http = fakeHttp(() => Response.json({ id: "m" }, { status: 201 }));
    const connector = createConnector({
      http,
      clock,
      metrics: createMetrics(),
      log: recordingLog(),
      tokens: undefined,
      hosts: { mode: "cloud", origins: new Set(["https://smba.test"]) },
      sendsPerSecond: 40,
    });
    const people = { bot: { id: "28:b" }, user: { id: "29:u" } };
    const site: ReplyContext = { base: BASE, conversation, type: "personal", ...people };
    const call: Call = { context: site, method: "PUT", activity, body: {}, what: "test" };
    const outcome = await connector.call(call);
    const asked = http.requests.map(({ url }) => url);
    if (path !== undefined) {
      assert.deepEqual(asked, [`${BASE}/v3/conversations${path}`]);
      return;
    }
    assert.deepEqual(outcome, { kind: "failed", why: "its address is invalid" });
    assert.deepEqual(asked, []);
    const next = { ...call, context: { ...site, conversation: "a:2" }, activity: undefined };
    assert.equal((await connector.call(next)).kind, "ok");
  });
}
