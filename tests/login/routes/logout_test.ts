/**
 * The logout: what ends a session, and what other sites cannot do.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createLoginRig, NAVIGATION, ORIGIN } from "tests/support/login_fixture.ts";

const ROWS: readonly [string, RequestInit, number, boolean][] = [
  ["a form of the login proxy", { method: "POST", headers: { origin: ORIGIN } }, 303, true],
  [
    "a link on the page",
    { headers: { ...NAVIGATION, "sec-fetch-site": "same-origin" } },
    303,
    true,
  ],
  ["an address that was typed", { headers: NAVIGATION }, 303, true],
  ["a script without fetch metadata", {}, 303, true],
  [
    "a post of another site",
    { method: "POST", headers: { origin: "http://evil.example" } },
    403,
    false,
  ],
  ["a post without proof", { method: "POST" }, 403, false],
  [
    "a link of another site",
    { headers: { ...NAVIGATION, "sec-fetch-site": "cross-site" } },
    200,
    false,
  ],
  [
    "a frame of another site",
    { headers: { ...NAVIGATION, "sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe" } },
    200,
    false,
  ],
  [
    "an image of another site",
    { headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" } },
    403,
    false,
  ],
  [
    "an image on the page",
    { headers: { "sec-fetch-site": "same-origin", "sec-fetch-mode": "no-cors" } },
    403,
    false,
  ],
  ["a prefetch", { headers: { ...NAVIGATION, "sec-purpose": "prefetch;prerender" } }, 200, false],
  ["a HEAD", { method: "HEAD" }, 405, false],
];
for (const [name, init, status, ends] of ROWS) {
  Deno.test(`/auth/logout by ${name} ${ends ? "ends" : "keeps"} the session`, async () => {
    const rig = await createLoginRig();
    const cookie = await rig.session();
    const headers = new Headers(init.headers);
    headers.set("cookie", cookie);
    const answer = await rig.ask("/auth/logout", { ...init, headers });
    assert.equal(answer.status, status);
    const cleared = "wv_session=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax";
    assert.deepEqual(answer.headers.getSetCookie(), ends ? [cleared] : []);
    if (ends) assert.equal(answer.headers.get("location"), "/auth/login");
    const after = await rig.ask("/api/x", { headers: { cookie } });
    assert.equal(after.status, ends ? 401 : 200);
  });
}

Deno.test("/auth/logout ends the open requests of that session only", async () => {
  const cut: string[] = [];
  const rig = await createLoginRig({
    cockpit: (request) => {
      const { pathname } = new URL(request.url);
      request.signal.addEventListener("abort", () => cut.push(pathname));
      return new Response(new ReadableStream({ start: (c) => c.enqueue(new Uint8Array(1)) }));
    },
  });
  const [one, two] = [await rig.session(), await rig.session()];
  const bodies = [
    await rig.ask("/events", { headers: { cookie: one } }),
    await rig.ask("/watch", { headers: { cookie: two } }),
  ].map((answer) => answer.body!.getReader());
  assert.equal(rig.leases.count(), 2);
  await rig.ask("/auth/logout", { method: "POST", headers: { cookie: one, origin: ORIGIN } });
  assert.equal(rig.leases.count(), 1);
  assert.ok(cut.every((path) => path === "/events"), cut.join());
  for (const body of bodies) await body.cancel().catch(() => {});
  assert.equal(rig.leases.count(), 0, "a reader that leaves gives its lease back");
});

Deno.test("an expired session ends its streams without a further request", async () => {
  const rig = await createLoginRig({
    env: { WEBVIEW_SESSION_TTL: "1m" },
    cockpit: () => new Response(new ReadableStream()),
  });
  const cookie = await rig.session();
  const answer = await rig.ask("/events", { headers: { cookie } });
  const reader = answer.body!.getReader();
  await rig.host.clock.advance(59_000);
  assert.equal(rig.leases.count(), 1);
  await rig.host.clock.advance(2_000);
  assert.equal(rig.leases.count(), 0);
  assert.equal((await rig.ask("/api/x", { headers: { cookie } })).status, 401);
  await reader.cancel().catch(() => {});
});
