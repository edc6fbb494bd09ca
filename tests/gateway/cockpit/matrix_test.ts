/**
 * Every route × every kind of caller. The rows come from the route table and the expectations from
 * the gate, so that a new route is covered automatically.
 *
 * @module
 */

import assert from "node:assert/strict";
import { mintAssertion, mintHostAssertion, parseAssertionKeys } from "core/access/assertion.ts";
import type { Gate } from "core/access/gates.ts";
import { PROBLEM_TYPE } from "gateway/cockpit/deny.ts";
import type { Route } from "gateway/cockpit/route.ts";
import { ROUTES } from "gateway/cockpit/table.ts";
import { startTestGateway, type TestGateway } from "tests/support/gateway_fixture.ts";

const KEY = "k1:0123456789abcdef0123456789abcdef";
const OTHER_KEY = "k1:another-key-another-key-another!";

/** A caller: headers for one request. Every request is about agent mia. */
type Caller = (method: string, path: string, now: number) => Promise<Record<string, string>>;

async function asserted(email: string, key: string, of: [string, string, number]) {
  const keys = await parseAssertionKeys(key);
  assert.ok(keys.ok);
  const [method, path, nowMs] = of;
  const token = await mintAssertion(keys.value, { subject: email, method, path }, { nowMs });
  return { "x-user-email": email, "x-fleetctl-assertion": token };
}
function signedIn(email: string, key = KEY): Caller {
  return (...of) => asserted(email, key, of);
}

function rootWith(key: string): Caller {
  return async (method, path, nowMs) => {
    const keys = await parseAssertionKeys(key);
    assert.ok(keys.ok);
    return {
      "x-fleetctl-assertion": await mintHostAssertion(keys.value, { method, path }, { nowMs }),
    };
  };
}

const CALLERS: Readonly<Record<string, Caller>> = {
  "nobody": () => Promise.resolve({}),
  "an empty identity": () => Promise.resolve({ "x-user-email": "" }),
  "an unknown identity": signedIn("eve@example.org"),
  "the owner": signedIn("mia@example.org"),
  "another owner": signedIn("bob@example.org"),
  "an admin": signedIn("ada@example.org"),
  "a forged header": () => Promise.resolve({ "x-user-email": "mia@example.org" }),
  "a forged assertion": signedIn("mia@example.org", OTHER_KEY),
  "an assertion for another request": (_, __, now) =>
    asserted("mia@example.org", KEY, ["GET", "/api/other", now]),
  "an assertion of another person": async (...of) => ({
    ...await asserted("mia@example.org", KEY, of),
    "x-user-email": "ada@example.org",
  }),
  "an old assertion": (method, path, now) =>
    asserted("mia@example.org", KEY, [method, path, now - 120_000]),
  "a page of another site": async (...of) => ({
    ...await asserted("mia@example.org", KEY, of),
    "sec-fetch-site": "cross-site",
  }),
  "root of the host": rootWith(KEY),
  "root with a forged statement": rootWith(OTHER_KEY),
  "root with a statement for another request": (_, __, now) =>
    rootWith(KEY)("GET", "/api/other", now),
  "root who names an owner": async (...of) => ({
    ...await rootWith(KEY)(...of),
    "x-user-email": "ada@example.org",
  }),
  // The login proxy signs the names under which people sign in, and "root" may be one of them.
  "a person signed in as root": signedIn("root"),
  "a proxied program": () => Promise.resolve({ "x-forwarded-for": "10.0.0.7" }),
};

/** The callers that pass each gate; all others are refused with 403. */
const PASSES: Readonly<Record<Gate, readonly string[]>> = {
  open: Object.keys(CALLERS),
  loopback: ["nobody"],
  viewer: ["the owner", "another owner", "an admin"],
  allowAgent: ["the owner", "an admin"],
  fleetView: ["an admin"],
  hostView: ["root of the host"],
};

/** The input that each route needs to be answered, for agent mia. */
const REQUESTS: Readonly<
  Record<string, { readonly query?: string; readonly body?: unknown; readonly status: number }>
> = {
  "GET /healthz": { status: 200 },
  "GET /metrics": { status: 200 },
  "GET /api/version": { status: 200 },
  "GET /api/openapi.json": { status: 200 },
  "GET /api/agents": { status: 200 },
  "GET /api/connections": { status: 200 },
  // This gateway has no daemon and reports that to callers who pass the gate.
  "GET /api/model": { query: "?agent=mia", status: 503 },
  "POST /api/model": { body: { agent: "mia", provider: "demo" }, status: 503 },
  "GET /api/hosts": { status: 200 },
  // No host is connected to this gateway.
  "GET /api/host/jobs": { query: "?host=atlas", status: 200 },
  "POST /api/host/jobs": { body: { host: "atlas", job: "apply" }, status: 503 },
  "GET /api/host/status": { query: "?host=atlas", status: 503 },
  "POST /api/apply-all": { body: {}, status: 200 },
  "POST /api/agents/restart": { body: { agent: "mia" }, status: 409 },
  "POST /api/turns": { body: { agent: "mia", text: "hi" }, status: 202 },
  "GET /api/conversations": { query: "?agent=mia", status: 200 },
  // The default conversation always exists.
  "POST /api/conversations": { body: { agent: "mia", conversation: "default" }, status: 409 },
  "PATCH /api/conversations": { body: { agent: "mia", conversation: "none" }, status: 404 },
  "GET /api/approvals": { query: "?agent=mia", status: 200 },
  "POST /api/approvals/decide": {
    body: { agent: "mia", approval_id: "none", digest: "d", decision: "approved" },
    status: 404,
  },
  "GET /api/questions": { query: "?agent=mia", status: 200 },
  "POST /api/questions/answer": {
    body: { agent: "mia", question_id: "none", action: "declined" },
    status: 404,
  },
  "POST /api/turns/cancel": { body: { agent: "mia", turn_id: "none" }, status: 404 },
  "POST /api/turns/steer": { body: { agent: "mia", turn_id: "none" }, status: 404 },
  "GET /events": { query: "?topics=transcript:mia", status: 200 },
  "GET /api/transcript": { query: "?agent=mia", status: 200 },
  // This gateway has no built page and reports that. web_files_test.ts tests the served files.
  "GET /": { status: 503 },
  "GET /agents/:agent": { status: 503 },
  "GET /hosts": { status: 503 },
  "GET /assets/:file": { status: 503 },
  "GET /icon.svg": { status: 503 },
  "GET /manifest.webmanifest": { status: 503 },
};

async function ask(running: TestGateway, route: Route, caller: Caller): Promise<Response> {
  const request = REQUESTS[`${route.method} ${route.path}`];
  assert.ok(request, `${route.method} ${route.path} has no row in REQUESTS`);
  const headers = await caller(route.method, route.path, running.host.clock.now());
  return await fetch(`${running.cockpitUrl}${route.path}${request.query ?? ""}`, {
    method: route.method,
    headers: {
      ...headers,
      "idempotency-key": crypto.randomUUID(),
      ...(request.body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
  });
}

Deno.test({
  name: "every route lets exactly the callers of its gate pass",
  sanitizeOps: true,
  sanitizeResources: true,
  fn: async (t) => {
    await using running = await startTestGateway({
      env: { WEBVIEW_ASSERTION_KEY: KEY, WEBVIEW_TRUST: "assertion" },
    });
    for (const route of ROUTES) {
      for (const [name, caller] of Object.entries(CALLERS)) {
        const passes = PASSES[route.gate].includes(name);
        const want = passes ? REQUESTS[`${route.method} ${route.path}`]?.status : 403;
        await t.step(`${route.method} ${route.path} answers ${want} to ${name}`, async () => {
          const response = await ask(running, route, caller);
          assert.equal(response.status, want);
          assert.match(response.headers.get("x-request-id") ?? "", /^[A-Za-z0-9._-]{1,64}$/);
          assert.equal(response.headers.get("x-content-type-options"), "nosniff");
          if (response.status === 403) {
            assert.equal(response.headers.get("content-type"), PROBLEM_TYPE);
            const body = await response.text();
            assert.doesNotMatch(body, /\bmia\b/, "a refusal names what it protects");
          } else await response.body?.cancel();
        });
      }
    }
  },
});

Deno.test("REQUESTS covers the table and nothing else", () => {
  const rows = ROUTES.map((route) => `${route.method} ${route.path}`);
  assert.deepEqual([...rows].sort(), Object.keys(REQUESTS).sort());
  assert.equal(new Set(rows).size, rows.length);
});

Deno.test({
  name: "the cockpit trusts the header alone only when configured to",
  sanitizeOps: true,
  sanitizeResources: true,
  fn: async () => {
    await using running = await startTestGateway();
    const seen = await fetch(`${running.cockpitUrl}/api/agents`, {
      headers: { "x-user-email": " Mia@Example.org " },
    });
    const body = await seen.json() as { readonly agents: readonly { readonly agent: string }[] };
    assert.deepEqual(body.agents.map(({ agent }) => agent), ["mia"]);
  },
});
