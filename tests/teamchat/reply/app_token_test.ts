/**
 * The app token: where and how often it is requested, how each refusal is handled, and that neither
 * the token nor the secret leaks.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseCloud } from "core/teamchat/cloud.ts";
import { createMetrics } from "teamchat/metrics.ts";
import { type AppTokenFault, createAppTokens } from "teamchat/reply/app_token.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { fakeHttp } from "tests/fakes/http.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { APP_ID, createConnectorKit, TENANT } from "tests/teamchat/connector/kit.ts";

const SECRET = "a-secret-that-nobody-may-read";

/** The requests that an identity provider received, and its scripted response. */
interface Provider {
  readonly asked: { readonly path: string; readonly form: URLSearchParams }[];
  respond: () => Response | Promise<Response>;
}

async function scene(tenants: "one" | "several" = "one") {
  const tenantId = tenants === "one" ? TENANT : undefined;
  const clock = fakeClock();
  const cloud = parseCloud((await createConnectorKit()).cloudFile, "cloud.yaml");
  assert.ok(cloud.ok);
  let number = 0;
  const provider: Provider = {
    asked: [],
    respond: () => Response.json({ expires_in: 3_600, access_token: `app-token-${++number}` }),
  };
  const log = recordingLog();
  const tokens = createAppTokens({
    cloud: cloud.value,
    appId: APP_ID,
    secret: SECRET,
    tenantId,
    clock,
    log,
    metrics: createMetrics(),
    http: fakeHttp(async (request) => {
      const form = new URLSearchParams(await request.text());
      provider.asked.push({ path: new URL(request.url).pathname, form });
      return await provider.respond();
    }),
  });
  return { clock, log, provider, tokens };
}

Deno.test("a bot of one tenant requests the app token from its own tenant", async () => {
  const { tokens, provider } = await scene();
  assert.deepEqual(await tokens.get(), { ok: true, token: "app-token-1" });
  const [{ path, form } = { path: "", form: new URLSearchParams() }] = provider.asked;
  assert.equal(path, `/login/${TENANT}/oauth2/v2.0/token`);
  assert.deepEqual(Object.fromEntries(form), {
    grant_type: "client_credentials",
    client_id: APP_ID,
    client_secret: SECRET,
    scope: "https://connector.test/.default",
  });
});

Deno.test("a bot of several tenants requests the app token from the cloud's tenant", async () => {
  const { tokens, provider } = await scene("several");
  assert.deepEqual(await tokens.get(), { ok: true, token: "app-token-1" });
  assert.equal(provider.asked[0]?.path, "/login/botframework.test/oauth2/v2.0/token");
});

Deno.test("a hundred simultaneous sends request one token, and none for an hour", async () => {
  const { clock, tokens, provider } = await scene();
  const all = await Promise.all(Array.from({ length: 100 }, () => tokens.get()));
  assert.deepEqual(new Set(all.map((each) => each.ok && each.token)), new Set(["app-token-1"]));
  await clock.advance(50 * 60_000);
  await tokens.get();
  assert.equal(provider.asked.length, 1);
});

Deno.test("a token is renewed before it expires; the old one is used meanwhile", async () => {
  const { clock, tokens, provider } = await scene();
  await tokens.get();
  await clock.advance(56 * 60_000);
  provider.respond = () => new Response(null, { status: 503 });
  assert.deepEqual(await tokens.get(), { ok: true, token: "app-token-1" });
  assert.equal(tokens.fault(), "unavailable");
  await clock.advance(10 * 60_000);
  assert.deepEqual(await tokens.get(), { ok: false, why: "unavailable" });
});

Deno.test("a refused token is requested once more, not once for each refusal", async () => {
  const { tokens, provider } = await scene();
  await tokens.get();
  for (let n = 0; n < 10; n++) tokens.reject("app-token-1");
  const all = await Promise.all(Array.from({ length: 10 }, () => tokens.get()));
  assert.ok(all.every((each) => each.ok && each.token === "app-token-2"));
  tokens.reject("app-token-1");
  assert.deepEqual(await tokens.get(), { ok: true, token: "app-token-2" });
  assert.equal(provider.asked.length, 2);
});

const refusal = (status: number, error: string, words: string) => () =>
  Response.json({ error, error_description: words }, { status });

/** Responses of an identity provider, and the fault that health reports for each. */
const REFUSALS: Readonly<Record<string, readonly [Provider["respond"], AppTokenFault]>> = {
  "invalid_client": [refusal(401, "invalid_client", "no"), "secret-invalid"],
  "a wrong secret (AADSTS7000215)": [
    refusal(400, "unauthorized_client", "AADSTS7000215: Invalid client secret provided."),
    "secret-invalid",
  ],
  "an expired secret (AADSTS7000222)": [
    refusal(401, "invalid_client", "AADSTS7000222: The provided client secret keys are expired."),
    "secret-expired",
  ],
  "an unknown tenant (AADSTS90002)": [
    refusal(400, "invalid_request", "AADSTS90002: Tenant not found."),
    "tenant-unknown",
  ],
  "429": [
    () => new Response(null, { status: 429, headers: { "retry-after": "1" } }),
    "unavailable",
  ],
  "500": [() => new Response("oops", { status: 500 }), "unavailable"],
  "a request that times out": [
    () => Promise.reject(new DOMException("late", "TimeoutError")),
    "unavailable",
  ],
  "a redirect": [() => Promise.reject(new TypeError("redirect")), "unavailable"],
  "no JSON": [() => new Response("<html>"), "unavailable"],
  "no token": [() => Response.json({ expires_in: 3_600 }), "unavailable"],
  "an empty token": [() => Response.json({ access_token: "", expires_in: 9 }), "unavailable"],
  "a token that never expires": [
    () => Response.json({ access_token: "x", expires_in: 1e12 }),
    "unavailable",
  ],
  "an expired token": [() => Response.json({ access_token: "x", expires_in: -1 }), "unavailable"],
  "ten megabytes": [() => new Response("x".repeat(10_000_000)), "unavailable"],
};

for (const [name, [respond, why]] of Object.entries(REFUSALS)) {
  Deno.test(`health reports once why there is no app token: ${name}`, async () => {
    const { clock, log, tokens, provider } = await scene();
    const usual = provider.respond;
    provider.respond = respond;
    for (let n = 0; n < 20; n++) assert.deepEqual(await tokens.get(), { ok: false, why });
    assert.equal(provider.asked.length, 1);
    assert.equal(tokens.fault(), why);
    assert.doesNotMatch(JSON.stringify(log.lines), /a-secret-that|app-token-/);
    provider.respond = usual;
    await clock.advance(5_000);
    assert.ok((await tokens.get()).ok);
    assert.equal(tokens.fault(), undefined);
  });
}
