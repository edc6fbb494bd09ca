/**
 * The user's own sessions: which are listed, who may end them, and which leases are aborted.
 *
 * @module
 */

import assert from "node:assert/strict";
import { deviceName } from "login/pages/device.ts";
import {
  basicHeader,
  BOB,
  createLoginRig,
  type LoginRig,
  MIA,
  NAVIGATION,
  ORIGIN,
  OWN_SCRIPT,
} from "tests/support/login_fixture.ts";

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 " +
  "(KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1";

const DEVICES: readonly (readonly [string, string])[] = [
  [FIREFOX, "Firefox on Linux"],
  [PHONE, "Safari on iPhone"],
  [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) " +
    "Chrome/150.0.0.0 Safari/537.36 Edg/150.0.0.0",
    "Edge on Windows",
  ],
  [
    "Mozilla/5.0 (Linux; Android 15; K) AppleWebKit/537.36 (KHTML, like Gecko) " +
    "Chrome/150.0.0.0 Mobile Safari/537.36",
    "Chrome on Android",
  ],
  ["curl/8.14.1", "curl"],
  ["Something/1.0 (Linux)", "A program on Linux"],
  ["<script>alert(1)</script>", "Unknown device"],
  ["", "Unknown device"],
];
for (const [agent, wanted] of DEVICES) {
  Deno.test(`deviceName() returns ${wanted}`, () => assert.equal(deviceName(agent), wanted));
}

interface Listed {
  readonly sessions: readonly {
    readonly handle: string;
    readonly device: string;
    readonly place: string;
    readonly isCurrent: boolean;
    readonly lastSeen: string;
  }[];
}

async function list(rig: LoginRig, headers: Readonly<Record<string, string>>): Promise<Listed> {
  const answer = await rig.ask("/auth/sessions", { headers: { ...OWN_SCRIPT, ...headers } });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("cache-control"), "no-store");
  return await answer.json() as Listed;
}

async function end(
  rig: LoginRig,
  headers: Readonly<Record<string, string>>,
  handle: string,
): Promise<Response> {
  return await rig.ask("/auth/sessions", {
    method: "POST",
    headers: { ...NAVIGATION, "sec-fetch-site": "same-origin", origin: ORIGIN, ...headers },
    body: new URLSearchParams({ end: handle }),
  });
}

async function statusOf(rig: LoginRig, cookie: string): Promise<number> {
  return (await rig.ask("/api/agents", { headers: { cookie } })).status;
}

Deno.test("the list shows the user's own sessions, marks this one, and reveals no id", async () => {
  const rig = await createLoginRig();
  const cookie = await rig.session();
  await rig.host.clock.advance(60_000);
  await rig.session();
  await rig.session(BOB);
  const { sessions } = await list(rig, { cookie });
  assert.deepEqual(sessions.map(({ isCurrent }) => isCurrent), [false, true]);
  const text = JSON.stringify(sessions);
  for (const { id } of rig.store.list()) assert.ok(!text.includes(id));
  const page = await rig.ask("/auth/sessions", { headers: { ...NAVIGATION, cookie } });
  const html = await page.text();
  assert.equal(html.match(/name="end"/g)?.length, 3, "each of the two, and all");
  assert.match(html, /this one/);
  assert.ok(!html.includes(BOB.name));
});

Deno.test("ending one session ends that session and its open requests", async () => {
  const rig = await createLoginRig({
    cockpit: ({ url }) => new Response(url.endsWith("/events") ? new ReadableStream({}) : "ok"),
  });
  const [mine, other] = [await rig.session(), await rig.session()];
  const stream = await rig.ask("/events", { headers: { cookie: other } });
  const cut = assert.rejects(stream.body!.getReader().read());
  const { sessions } = await list(rig, { cookie: mine });
  const handle = sessions.find(({ isCurrent }) => !isCurrent)?.handle ?? "";
  const done = await end(rig, { cookie: mine }, handle);
  assert.deepEqual([done.status, done.headers.get("location")], [303, "/auth/sessions"]);
  await cut;
  assert.deepEqual([await statusOf(rig, mine), await statusOf(rig, other)], [200, 401]);
});

Deno.test("ending all sessions also ends this one and its Basic streams", async () => {
  const rig = await createLoginRig({
    cockpit: ({ url }) => new Response(url.endsWith("/events") ? new ReadableStream({}) : "ok"),
  });
  const [mine, other, bob] = [await rig.session(), await rig.session(), await rig.session(BOB)];
  const basic = await rig.ask("/events", { headers: { authorization: basicHeader(MIA) } });
  const cut = assert.rejects(basic.body!.getReader().read());
  const done = await end(rig, { cookie: mine }, "all");
  assert.deepEqual([done.status, done.headers.get("location")], [303, "/auth/login"]);
  assert.match(done.headers.getSetCookie().join(), /wv_session=; .*Max-Age=0/);
  await cut;
  assert.deepEqual(
    [await statusOf(rig, mine), await statusOf(rig, other), await statusOf(rig, bob)],
    [401, 401, 200],
  );
});

Deno.test("another user's id, another site or a bad form ends no session", async () => {
  const rig = await createLoginRig();
  const [mine, bob] = [await rig.session(), await rig.session(BOB)];
  const handle = (await list(rig, { cookie: bob })).sessions[0]?.handle ?? "";
  assert.equal((await end(rig, { cookie: mine }, handle)).status, 303, "as one that has ended");
  const foreign = { cookie: bob, origin: "http://evil.example", "sec-fetch-site": "cross-site" };
  assert.equal((await end(rig, foreign, "all")).status, 403);
  const bare = await rig.ask("/auth/sessions", {
    method: "POST",
    headers: { cookie: bob },
    body: new URLSearchParams({ end: "all" }),
  });
  assert.equal(bare.status, 403);
  for (const body of ["", "end=all&end=all", "x=all"]) {
    const answer = await rig.ask("/auth/sessions", {
      method: "POST",
      headers: { ...OWN_SCRIPT, cookie: bob },
      body,
    });
    assert.equal(answer.status, 400, body);
  }
  assert.deepEqual([await statusOf(rig, mine), await statusOf(rig, bob)], [200, 200]);
  const stranger = await rig.ask("/auth/sessions", { headers: NAVIGATION });
  assert.equal(stranger.headers.get("location"), "/auth/login");
});

Deno.test("the time of a session's last use is at most five minutes old", async () => {
  const rig = await createLoginRig();
  const cookie = await rig.session();
  const start = rig.host.clock.now();
  await rig.host.clock.advance(3_600_000);
  await statusOf(rig, cookie);
  const { sessions } = await list(rig, { cookie });
  assert.equal(Date.parse(sessions[0]?.lastSeen ?? ""), start + 3_600_000);
});
