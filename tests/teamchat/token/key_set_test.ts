/**
 * The platform's key set: fetched rarely, kept when a fetch fails, replaced when it changes.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseCloud } from "core/teamchat/cloud.ts";
import { createKeySet } from "teamchat/inbound/key_set.ts";
import { createMetrics } from "teamchat/metrics.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { fakeHttp } from "tests/fakes/http.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { createConnectorKit } from "tests/teamchat/connector/kit.ts";
import { teamchatTest as test } from "tests/teamchat/fixture.ts";
import { kitHost } from "tests/teamchat/kit_host.ts";

Deno.test("ten thousand unknown keys cause one fetch per cooldown", async () => {
  const clock = fakeClock();
  const kit = await createConnectorKit({ now: () => clock.now() });
  const cloud = parseCloud(kit.cloudFile, "cloud.yaml");
  assert.ok(cloud.ok);
  const http = fakeHttp((request) => kit.handle(request));
  const keys = createKeySet({
    cloud: cloud.value,
    http,
    clock,
    log: recordingLog(),
    metrics: createMetrics(),
  });
  const fetches = () => kit.paths.filter((path) => path === "keys").length;
  assert.notEqual(await keys.find("key-1"), "unknown");
  for (let n = 0; n < 5_000; n++) assert.equal(await keys.find(`k${n}`), "unknown");
  assert.equal(fetches(), 1);
  await clock.advance(31_000);
  for (let n = 0; n < 5_000; n++) assert.equal(await keys.find(`l${n}`), "unknown");
  assert.equal(fetches(), 2);
});

test("without keys the answer is 503, until the keys are loaded", async (at) => {
  const refused = await at.post(at.message("hello"));
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "5"]);
  at.kit.override("keys", undefined);
  await at.clock.advance(2_000);
  assert.equal((await at.post(at.message("hello"))).status, 202);
}, async () => {
  const machine = await kitHost();
  machine.kit.override("keys", () => Response.redirect("http://127.0.0.1:9/elsewhere"));
  return { machine };
});

test("a key set that hangs delays no token whose key is known", async (at) => {
  assert.equal((await at.post(at.message("before"))).status, 202);
  const held = Promise.withResolvers<Response>();
  at.kit.override("keys", () => held.promise);
  await at.clock.advance(60_000);
  const stray = await at.kit.keys.make("key-8", { isHidden: true });
  const token = await at.kit.keys.token(at.kit.serviceUrl, { key: stray });
  const waiting = at.post(at.message("x"), { authorization: `Bearer ${token}` });
  assert.equal((await at.post(at.message("meanwhile"))).status, 202);
  held.resolve(new Response("late", { status: 500 }));
  assert.equal((await waiting).status, 401);
});

for (
  const [name, respond] of Object.entries({
    "a redirect": () => Response.redirect("http://127.0.0.1:9/elsewhere"),
    "an error": () => new Response("no", { status: 500 }),
    "no JSON": () => new Response("<html>"),
    "ten megabytes": () => new Response("x".repeat(10_000_000)),
    "no keys": () => Response.json({ keys: [] }),
    "an elliptic key": () => Response.json({ keys: [{ kty: "EC", kid: "key-1", crv: "P-256" }] }),
    "two keys of one name": () =>
      Response.json({
        keys: [1, 2].map(() => ({ kty: "RSA", kid: "key-1", n: "AA".repeat(171), e: "AQAB" })),
      }),
  })
) {
  test(`good keys are kept when the key set is ${name}`, async (at) => {
    assert.equal((await at.post(at.message("before"))).status, 202);
    at.kit.override("keys", respond);
    await at.clock.advance(60_000);
    const stray = await at.kit.keys.make("key-8", { isHidden: true });
    const token = await at.kit.keys.token(at.kit.serviceUrl, { key: stray });
    const refused = await at.post(at.message("x"), { authorization: `Bearer ${token}` });
    assert.equal(refused.status, 401);
    assert.equal((await at.post(at.message("after"))).status, 202);
  });
}

test(
  "a new key is used at once; a removed key is refused, also for cached tokens",
  async (at) => {
    const old = await at.kit.keys.token(at.kit.serviceUrl);
    const authorization = `Bearer ${old}`;
    for (const text of ["one", "and again", "and again"]) {
      assert.equal((await at.post(at.message(text), { authorization })).status, 202);
    }
    await at.kit.keys.rotate("key-2");
    await at.clock.advance(31_000);
    assert.equal((await at.post(at.message("two"))).status, 202);
    assert.equal((await at.post(at.message("three"), { authorization })).status, 401);
  },
);
