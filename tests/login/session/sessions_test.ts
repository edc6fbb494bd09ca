/**
 * Sessions: valid tokens, and everything that invalidates them.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { memoryHost } from "tests/fakes/host.ts";
import {
  basicHeader,
  BOB,
  cookieOf,
  createLoginRig,
  KEYS,
  type LoginRig,
  MIA,
  NAVIGATION,
  OWN_SCRIPT,
} from "tests/support/login_fixture.ts";

async function statusOf(rig: LoginRig, cookie: string): Promise<number> {
  const answer = await rig.ask("/api/x", { headers: { cookie } });
  await answer.body?.cancel();
  return answer.status;
}

Deno.test("a truncated, changed or respelled token is not a session", async () => {
  const rig = await createLoginRig();
  const cookie = await rig.session();
  const token = cookie.slice("wv_session=".length);
  for (let length = 0; length < token.length; length++) {
    assert.equal(await statusOf(rig, `wv_session=${token.slice(0, length)}`), 401, `${length}`);
  }
  const dot = token.indexOf(".");
  const others = [
    `${token}=`,
    `${token}.`,
    ` ${token}x`,
    `"${token}"`,
    token.replace(".", "%2E"),
    `${token.slice(0, dot)}.`,
    `.${token.slice(dot + 1)}`,
    `${token}.${token}`,
    token.toUpperCase(),
  ];
  for (const other of others) assert.equal(await statusOf(rig, `wv_session=${other}`), 401, other);
  for (let index = 0; index < token.length; index++) {
    if (index === dot) continue;
    const letter = token[index] === "A" ? "B" : "A";
    const changed = token.slice(0, index) + letter + token.slice(index + 1);
    assert.equal(await statusOf(rig, `wv_session=${changed}`), 401, `letter ${index}`);
  }
  assert.equal(await statusOf(rig, cookie), 200);
});

Deno.test("only a cookie with the exact name counts, and only if it occurs once", async () => {
  const rig = await createLoginRig();
  const cookie = await rig.session();
  const other = await rig.session(BOB);
  const token = cookie.slice("wv_session=".length);
  const rows: readonly [string, number][] = [
    [`a=1; ${cookie}; b=2`, 200],
    [`a=1;${cookie};b=2`, 200],
    [`${cookie}; ${other}`, 401],
    [`${other}; ${cookie}`, 401],
    [`${cookie}; wv_session=x`, 401],
    [`WV_SESSION=${token}`, 401],
    [`wv_session =${token}`, 401],
    [`=wv_session=${token}`, 401],
    [`$Version=1; $wv_session=${token}`, 401],
    [`__Host-wv_session=${token}`, 401],
    [`a="; ${cookie}"`, 401],
  ];
  for (const [header, status] of rows) assert.equal(await statusOf(rig, header), status, header);
});

Deno.test("a signed token without a row is not a session", async () => {
  const rig = await createLoginRig();
  const cookie = await rig.session();
  const stranger = await createLoginRig({ host: memoryHost({ seed: 99 }) });
  assert.equal(await statusOf(stranger, cookie), 401, "the same key on another host");
});

Deno.test("a session ends when its user's password changes or the user is removed", async () => {
  const host = memoryHost();
  const first = await createLoginRig({ host });
  const [mia, bob] = [await first.session(), await first.session(BOB)];
  const again = await createLoginRig({ host });
  assert.deepEqual([await statusOf(again, mia), await statusOf(again, bob)], [200, 200]);
  const changed = await createLoginRig({
    host,
    env: { WEBVIEW_BASIC_USERS: `${MIA.name}:another,${BOB.name}:${BOB.password}` },
  });
  assert.deepEqual([await statusOf(changed, mia), await statusOf(changed, bob)], [401, 200]);
  const alone = await createLoginRig({ host, env: { WEBVIEW_BASIC_USERS: `x@y.z:pw` } });
  assert.equal(await statusOf(alone, bob), 401);
});

Deno.test("a new key in front ends no session, and removing the old key ends all", async () => {
  const host = memoryHost();
  const old = KEYS.WEBVIEW_HMAC_KEY;
  const rig = await createLoginRig({ host, env: { WEBVIEW_HMAC_KEY: `one:${old}` } });
  const cookie = await rig.session();
  const next = "two:another-key-of-the-tests-00000000";
  const both = await createLoginRig({ host, env: { WEBVIEW_HMAC_KEY: `${next},one:${old}` } });
  assert.equal(await statusOf(both, cookie), 200);
  const alone = await createLoginRig({ host, env: { WEBVIEW_HMAC_KEY: next } });
  assert.equal(await statusOf(alone, cookie), 401);
});

Deno.test("a token signed with an old key is signed again on the next page", async () => {
  const host = memoryHost();
  const old = KEYS.WEBVIEW_HMAC_KEY;
  const next = "two:another-key-of-the-tests-00000000";
  const rig = await createLoginRig({ host, env: { WEBVIEW_HMAC_KEY: `one:${old}` } });
  const cookie = await rig.session();
  const both = await createLoginRig({ host, env: { WEBVIEW_HMAC_KEY: `${next},one:${old}` } });
  const script = await both.ask("/api/agents", { headers: { ...OWN_SCRIPT, cookie } });
  assert.equal(cookieOf(script, "wv_session"), undefined, "only an answer that is not shared");
  const page = await both.ask("/", { headers: { ...NAVIGATION, cookie } });
  const renewed = cookieOf(page, "wv_session") ?? "";
  assert.notEqual(renewed, cookie);
  const again = await both.ask("/", { headers: { ...NAVIGATION, cookie: renewed } });
  assert.equal(cookieOf(again, "wv_session"), undefined, "signed with the first key already");
  const alone = await createLoginRig({ host, env: { WEBVIEW_HMAC_KEY: next } });
  assert.deepEqual([await statusOf(alone, cookie), await statusOf(alone, renewed)], [401, 200]);
  assert.equal(alone.store.list().length, 1, "the same session");
});

Deno.test("a stream under a Basic header ends with the lifetime of a session", async () => {
  const rig = await createLoginRig({
    env: { WEBVIEW_SESSION_TTL: "1m" },
    cockpit: () => new Response(new ReadableStream({})),
  });
  const answer = await rig.ask("/events", { headers: { authorization: basicHeader(BOB) } });
  assert.equal(answer.status, 200);
  assert.equal(rig.leases.count(), 1);
  const reader = answer.body!.getReader();
  const cut = assert.rejects(reader.read());
  await rig.host.clock.advance(59_000);
  assert.equal(rig.leases.count(), 1);
  await rig.host.clock.advance(2_000);
  await cut;
  assert.equal(rig.leases.count(), 0);
});

Deno.test("a session ends at its expiry, however the clock was set before", async () => {
  const rig = await createLoginRig({ env: { WEBVIEW_SESSION_TTL: "1h" } });
  const cookie = await rig.session();
  const start = rig.host.clock.now();
  for (const [offset, status] of [[-3_600_000, 200], [3_599_000, 200], [3_601_000, 401]] as const) {
    rig.host.clock.setNow(start + offset);
    assert.equal(await statusOf(rig, cookie), status, `${offset}`);
  }
});

Deno.test("the hundred-and-first session of a user replaces the oldest", async () => {
  const rig = await createLoginRig();
  const first = await rig.session();
  const other = await rig.session(BOB);
  for (let count = 0; count < 100; count++) {
    await rig.host.clock.advance(1_000);
    await rig.session();
  }
  assert.deepEqual([await statusOf(rig, first), await statusOf(rig, other)], [401, 200]);
});

Deno.test("a session that cannot be stored is reported and not opened", async () => {
  const { FileFault } = await import("core/ports/files.ts");
  const failing = memoryHost();
  const { databases } = failing;
  const full = await createLoginRig({
    host: {
      ...failing,
      databases: {
        open: async (path) => {
          const db = await databases.open(path);
          let isOpen = false;
          return {
            ...db,
            transaction: (work) => {
              // The first transaction creates the tables.
              if (isOpen) throw new FileFault("ENOSPC", path, "no space left on device");
              isOpen = true;
              return db.transaction(work);
            },
          };
        },
      },
    },
  });
  const answer = await full.logIn();
  assert.equal(answer.status, 507);
  assert.equal(cookieOf(answer, "wv_session"), undefined);
});

Deno.test("the list of sessions contains no secret", async () => {
  const rig = await createLoginRig();
  const cookie = await rig.session(BOB);
  const id = new TextDecoder().decode(
    Uint8Array.fromBase64(cookie.slice("wv_session=".length).split(".")[0] ?? "", {
      alphabet: "base64url",
    }),
  ).split("|")[3] ?? "";
  const row = rig.store.find(id);
  assert.equal(row?.principal, BOB.name);
  const text = JSON.stringify(row);
  assert.ok(!text.includes(BOB.password) && !text.includes(cookie.split(".")[1] ?? ""));
});

Deno.test("a Basic header opens nothing unless it is exactly right", async () => {
  const good = basicHeader(MIA);
  const rows = [
    `${good}, ${good}`,
    `${good}=`,
    good.replace("Basic ", "Basic\t"),
    good.replace("Basic ", "Basic"),
    good.slice(0, -4),
    "Basic",
    "Basic ",
    "Basic !!!!",
    `Basic ${btoa("no-colon")}`,
    `Basic ${btoa(":password")}`,
    `Basic ${btoa(`${MIA.name}:${MIA.password}\0`)}`,
    `Basic ${btoa(`${MIA.name}:${MIA.password} `)}`,
    `Basic ${btoa("\xff\xfe:x")}`,
    `Bearer ${good.slice(6)}`,
  ];
  for (const authorization of rows) {
    const rig = await createLoginRig();
    const answer = await rig.ask("/api/x", { headers: { authorization } });
    assert.equal(answer.status, 401, authorization);
    assert.equal(rig.seen.length, 0);
  }
  const rig = await createLoginRig();
  for (const scheme of ["basic", "BASIC", "Basic  "]) {
    const authorization = good.replace("Basic", scheme);
    assert.equal((await rig.ask("/api/x", { headers: { authorization } })).status, 200, scheme);
  }
});

Deno.test("no made-up header opens anything: all fail with 401 or 429", async () => {
  const rig = await createLoginRig();
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.base64String().map((text) => `Basic ${text}`),
        fc.tuple(fc.string(), fc.string()).map(([name, password]) =>
          `Basic ${new TextEncoder().encode(`${name}:${password}`).toBase64()}`
        ),
        fc.stringMatching(/^[\x20-\x7e]{0,60}$/),
      ),
      async (authorization) => {
        const answer = await rig.ask("/api/x", {
          headers: { authorization },
          peer: `10.${Math.floor(rig.host.random.fraction() * 250)}.0.1:1`,
        });
        assert.ok([401, 429].includes(answer.status));
        assert.equal(rig.seen.length, 0);
      },
    ),
  );
});
