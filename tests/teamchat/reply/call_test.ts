/**
 * Which path a connector request takes: the fast client; or `fetch` alone if the environment names
 * a proxy, and for a while after the fast client could send nothing. Never both when something may
 * have been sent.
 *
 * @module
 */

import assert from "node:assert/strict";
import { HttpCallFault, type HttpCallRequest } from "core/http1/http_call.ts";
import { createCalls } from "teamchat/reply/call.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { fakeHttp } from "tests/fakes/http.ts";

const REQUEST: HttpCallRequest = {
  method: "POST",
  url: "https://smba.test/v3/x",
  headers: { a: "b" },
  body: "{}",
  answerBytesMax: 100,
  timeoutMs: 10_000,
};

/** An error as the platform's `fetch` rejects with. */
const failed = (says: string) => new TypeError("fetch failed", { cause: new Error(says) });

function world(reason: "unmade" | "unanswered" | undefined, isForProxy = false) {
  const clock = fakeClock();
  const http = fakeHttp(() => Response.json({ by: "fetch" }, { status: 201 }));
  let asked = 0;
  let looked = 0;
  const call = createCalls({
    ...http,
    isForProxy: () => {
      looked++;
      return isForProxy;
    },
    call: () => {
      asked++;
      return reason === undefined
        ? Promise.resolve({ status: 201, header: () => undefined, body: '{"by":"call"}' })
        : Promise.reject(new HttpCallFault(reason, "x"));
    },
  }, clock);
  return {
    call,
    clock,
    asked: () => asked,
    fetched: () => http.requests.length,
    looked: () => looked,
  };
}

Deno.test("a request uses the direct call, and not fetch", async () => {
  const { call, asked, fetched } = world(undefined);
  assert.equal((await call(REQUEST)).body, '{"by":"call"}');
  assert.deepEqual([asked(), fetched()], [1, 0]);
});

Deno.test("an unreachable host is called by fetch, for a minute without a direct try", async () => {
  const { call, clock, asked, fetched } = world("unmade");
  for (let n = 1; n <= 3; n++) {
    assert.equal((await call(REQUEST)).body, '{"by":"fetch"}');
    assert.deepEqual([asked(), fetched()], [1, n]);
  }
  await call({ ...REQUEST, url: "https://other.test/v3/x" });
  assert.equal(asked(), 2);
  await clock.advance(60_000);
  await call(REQUEST);
  assert.equal(asked(), 3);
});

Deno.test("a request that may have arrived is not sent again", async () => {
  const { call, asked, fetched } = world("unanswered");
  await assert.rejects(call(REQUEST), (thrown: HttpCallFault) => thrown.reason === "unanswered");
  assert.deepEqual([asked(), fetched()], [1, 0]);
});

Deno.test("a request uses fetch if the environment sets a proxy for it", async () => {
  const { call, asked, fetched, looked } = world(undefined, true);
  for (let n = 1; n <= 2; n++) {
    assert.equal((await call(REQUEST)).body, '{"by":"fetch"}');
    assert.deepEqual([asked(), fetched(), looked()], [0, n, 1]);
  }
});

Deno.test("fetch follows no redirect, and a fault says whether anything was sent", async () => {
  const clock = fakeClock();
  const moved = createCalls(
    fakeHttp((request) => {
      assert.equal(request.redirect, "manual");
      return new Response("x".repeat(101), {
        status: 302,
        headers: { location: "https://e.test" },
      });
    }),
    clock,
  );
  const answer = await moved(REQUEST);
  assert.deepEqual([answer.status, answer.header("location"), answer.body], [
    302,
    "https://e.test",
    undefined,
  ]);
  for (
    const [says, reason] of [
      ["client error (Connect): tcp connect error: Connection refused (os error 111)", "unmade"],
      ["client error (Connect): unsuccessful tunnel", "unmade"],
      ["client error (SendRequest): connection closed", "unanswered"],
      ["reset", "unanswered"],
    ] as const
  ) {
    const failing = createCalls({ fetch: () => Promise.reject(failed(says)) }, clock);
    await assert.rejects(failing(REQUEST), (thrown: HttpCallFault) => thrown.reason === reason);
  }
});
