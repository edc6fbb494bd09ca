/**
 * The login form: the result of a valid post, and every refusal of an invalid one.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import {
  basicHeader,
  cookieOf,
  createLoginRig,
  type LoginRig,
  MIA,
  NAVIGATION,
  ORIGIN,
} from "tests/support/login_fixture.ts";

function test(name: string, run: () => Promise<void>): void {
  Deno.test({ name, sanitizeOps: true, sanitizeResources: true, fn: run });
}

interface Form {
  readonly cookie: string;
  readonly csrf: string;
}

async function loadForm(rig: LoginRig, peer?: string): Promise<Form> {
  const answer = await rig.ask("/auth/login", {
    headers: NAVIGATION,
    ...defined({ peer }),
  });
  assert.equal(answer.status, 200);
  return {
    cookie: cookieOf(answer, "wv_login_csrf") ?? "",
    csrf: /name="csrf" value="([^"]*)"/.exec(await answer.text())?.[1] ?? "",
  };
}

function post(
  rig: LoginRig,
  form: Partial<Form>,
  more: {
    readonly headers?: Record<string, string>;
    readonly password?: string;
    readonly user?: string;
    readonly peer?: string;
  } = {},
): Promise<Response> {
  const { headers, password = MIA.password, user = MIA.name, peer } = more;
  return rig.ask("/auth/login", {
    method: "POST",
    headers: {
      ...NAVIGATION,
      "sec-fetch-site": "same-origin",
      origin: ORIGIN,
      ...defined({ cookie: form.cookie }),
      ...headers,
    },
    body: new URLSearchParams({
      ...defined({ csrf: form.csrf }),
      user,
      password,
    }),
    ...defined({ peer }),
  });
}

test("the cookies of a login have exactly the documented attributes", async () => {
  const rig = await createLoginRig();
  const form = await rig.ask("/auth/login", { headers: NAVIGATION });
  assert.match(
    form.headers.getSetCookie().join("\n"),
    /^wv_login_csrf=[\w.-]+; Path=\/auth\/login; Max-Age=3600; HttpOnly; Secure; SameSite=Lax$/,
  );
  const done = await rig.logIn();
  const [session, cleared, ...rest] = done.headers.getSetCookie();
  assert.match(
    session ?? "",
    /^wv_session=[\w-]+\.[\w-]{43}; Path=\/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax$/,
  );
  assert.equal(
    cleared,
    "wv_login_csrf=; Path=/auth/login; Max-Age=0; HttpOnly; Secure; SameSite=Lax",
  );
  assert.deepEqual(rest, []);
  const payload = (session ?? "").slice("wv_session=".length).split(".")[0] ?? "";
  const fields = new TextDecoder().decode(
    Uint8Array.fromBase64(payload, { alphabet: "base64url" }),
  ).split("|");
  assert.deepEqual([fields.length, fields[0], fields[2]], [4, "session", MIA.name]);
  assert.equal(Number(fields[1]), Math.floor(rig.host.clock.now() / 1000) + 30 * 86_400);
});

test("a wrong name and a wrong password look alike, and keep the typed name", async () => {
  const rig = await createLoginRig();
  const texts: string[] = [];
  for (const wrong of [{ password: "no" }, { user: "nobody@example.org" }, { password: "" }]) {
    const answer = await post(rig, await loadForm(rig), wrong);
    assert.equal(answer.status, 401);
    assert.equal(cookieOf(answer, "wv_session"), undefined);
    const text = await answer.text();
    assert.match(text, /role="alert"/);
    assert.match(text, /aria-describedby="error"/);
    texts.push(
      text.replace(/name="csrf" value="[^"]*"/, "").replaceAll("nobody@example.org", MIA.name),
    );
    assert.ok(!text.includes(MIA.password));
  }
  assert.equal(texts[0], texts[1]);
  assert.equal(texts[0], texts[2]);
});

test("typed input is shown as text, never as markup", async () => {
  const rig = await createLoginRig();
  const user = `"><script>alert(1)</script>`;
  const text = await (await post(rig, await loadForm(rig), { user })).text();
  assert.ok(!text.includes("<script"), text);
  const asked = await rig.ask(`/auth/login?next=${encodeURIComponent('/"><script>')}`, {
    headers: NAVIGATION,
  });
  assert.ok(!(await asked.text()).includes("<script"));
});

test("a name is accepted in any case and with spaces around it", async () => {
  const rig = await createLoginRig();
  const answer = await post(rig, await loadForm(rig), { user: "  MIA@Example.ORG " });
  assert.equal(answer.status, 303);
});

const FORGED: readonly [string, (form: Form, other: Form) => Partial<Form>][] = [
  ["no cookie", ({ csrf }) => ({ csrf })],
  ["no field", ({ cookie }) => ({ cookie })],
  ["an empty field", ({ cookie }) => ({ cookie, csrf: "" })],
  ["the field of another browser", ({ cookie }, other) => ({ cookie, csrf: other.csrf })],
  ["a cookie that the proxy did not sign", () => ({ cookie: "wv_login_csrf=a.b", csrf: "a.b" })],
  ["two cookies", ({ cookie, csrf }, other) => ({ cookie: `${cookie}; ${other.cookie}`, csrf })],
];
for (const [name, forge] of FORGED) {
  test(`a post with ${name} is refused, and not counted as an attempt`, async () => {
    const rig = await createLoginRig();
    for (let round = 0; round < 10; round++) {
      const answer = await post(rig, forge(await loadForm(rig), await loadForm(rig)));
      assert.equal(answer.status, 403);
      assert.equal(cookieOf(answer, "wv_session"), undefined);
      await answer.body?.cancel();
    }
    assert.equal((await rig.logIn()).status, 303);
  });
}

test("a form is valid for one post, within an hour", async () => {
  const rig = await createLoginRig();
  const form = await loadForm(rig);
  assert.equal((await post(rig, form)).status, 303);
  assert.equal((await post(rig, form)).status, 403, "replayed");
  const failed = await loadForm(rig);
  assert.equal((await post(rig, failed, { password: "no" })).status, 401);
  assert.equal((await post(rig, failed)).status, 403, "replayed after a failure");
  const old = await loadForm(rig);
  await rig.host.clock.advance(3_600_000);
  assert.equal((await post(rig, old)).status, 403, "too old");
});

test("a session is not a form token, and a form token not a session", async () => {
  const rig = await createLoginRig();
  const session = (await rig.session()).slice("wv_session=".length);
  const swapped = { cookie: `wv_login_csrf=${session}`, csrf: session };
  assert.equal((await post(rig, swapped)).status, 403);
  const { csrf } = await loadForm(rig);
  const asked = await rig.ask("/api/x", { headers: { cookie: `wv_session=${csrf}` } });
  assert.equal(asked.status, 401);
});

const FOREIGN: readonly [string, Record<string, string>][] = [
  ["cross-site", { "sec-fetch-site": "cross-site" }],
  ["same-site", { "sec-fetch-site": "same-site" }],
];
for (const [name, headers] of FOREIGN) {
  test(`a ${name} post is refused before its password is checked`, async () => {
    const rig = await createLoginRig();
    const answer = await post(rig, await loadForm(rig), { headers });
    assert.equal(answer.status, 403);
    assert.match(await answer.text(), /not proven to come from a page of this origin/);
  });
}

test("a post without fetch metadata needs the origin of this site", async () => {
  const rig = await createLoginRig();
  const rows: readonly [string | undefined, number][] = [
    [ORIGIN, 303],
    [undefined, 403],
    ["null", 403],
    ["http://evil.example", 403],
    [`${ORIGIN}.evil.example`, 403],
    ["http://localhost", 403],
    [`${ORIGIN}/`, 403],
  ];
  for (const [origin, status] of rows) {
    const form = await loadForm(rig);
    const answer = await rig.ask("/auth/login", {
      method: "POST",
      headers: { cookie: form.cookie, ...defined({ origin }) },
      body: new URLSearchParams({ csrf: form.csrf, user: MIA.name, password: MIA.password }),
    });
    assert.equal(answer.status, status, String(origin));
  }
});

test("a body of another type or size is refused", async () => {
  const rig = await createLoginRig();
  const headers = { "sec-fetch-site": "same-origin", accept: "*/*" };
  const text = await rig.ask("/auth/login", { method: "POST", headers, body: "user=a" });
  assert.deepEqual([text.status, (await text.json()).code], [415, "form-invalid"]);
  const large = await rig.ask("/auth/login", {
    method: "POST",
    headers,
    body: new URLSearchParams({ user: "x".repeat(17_000) }),
  });
  assert.deepEqual([large.status, (await large.json()).code], [413, "body-too-large"]);
  const method = await rig.ask("/auth/login", { method: "PUT", headers, body: "x" });
  assert.deepEqual([method.status, method.headers.get("allow")], [405, "GET, HEAD, POST"]);
});

test("the ninth attempt in a minute is refused, by form or header, right or wrong", async () => {
  const rig = await createLoginRig();
  const wrong = { authorization: basicHeader({ name: MIA.name, password: "no" }) };
  for (let round = 0; round < 4; round++) {
    assert.equal((await post(rig, await loadForm(rig), { password: "no" })).status, 401);
    assert.equal((await rig.ask("/api/x", { headers: wrong })).status, 401);
  }
  const form = await loadForm(rig);
  const limited = await post(rig, form);
  assert.deepEqual([limited.status, limited.headers.get("retry-after")], [429, "60"]);
  const header = await rig.ask("/api/x", { headers: { authorization: basicHeader(MIA) } });
  assert.deepEqual([header.status, (await header.json()).code], [429, "too-many-logins"]);
  assert.equal((await rig.logIn(MIA, { peer: "10.0.0.9:1" })).status, 303, "another client");
  await rig.host.clock.advance(30_000);
  const later = await rig.ask("/api/x", { headers: { authorization: basicHeader(MIA) } });
  assert.equal(later.headers.get("retry-after"), "30");
  await rig.host.clock.advance(30_000);
  assert.equal((await rig.logIn()).status, 303);
});

test("a success does not lower the count, and a known header does not bypass it", async () => {
  const rig = await createLoginRig();
  const right = { authorization: basicHeader(MIA) };
  for (let round = 0; round < 8; round++) {
    assert.equal((await rig.ask("/api/x", { headers: right })).status, 200);
    const wrong = { authorization: basicHeader({ ...MIA, password: `no ${round}` }) };
    assert.equal((await rig.ask("/api/x", { headers: wrong })).status, 401);
  }
  assert.equal((await rig.ask("/api/x", { headers: right })).status, 429);
});

test("a burst of parallel guesses gets eight checks", async () => {
  const rig = await createLoginRig();
  const answers = await Promise.all(Array.from({ length: 100 }, (_, index) =>
    rig.ask("/api/x", {
      headers: { authorization: basicHeader({ ...MIA, password: `guess ${index}` }) },
    })));
  assert.equal(answers.filter(({ status }) => status === 401).length, 8);
  assert.equal(answers.filter(({ status }) => status === 429).length, 92);
});

test("a trusted proxy names the client to count, and no other peer can", async () => {
  const rig = await createLoginRig({ env: { WEBVIEW_TRUSTED_PROXIES: "10.0.0.1,192.168.0.0/16" } });
  const guess = (peer: string, forwarded: string) =>
    rig.ask("/api/x", {
      peer,
      headers: {
        authorization: basicHeader({ ...MIA, password: "no" }),
        "x-forwarded-for": forwarded,
      },
    });
  for (let round = 0; round < 8; round++) {
    // The client's own entries are on the left and have no effect.
    assert.equal((await guess("10.0.0.1:1", `1.1.1.${round}, 9.9.9.9, 192.168.3.4`)).status, 401);
    assert.equal((await guess("172.16.0.1:1", `1.1.1.${round}`)).status, 401, "not trusted");
  }
  assert.equal((await guess("10.0.0.1:2", "9.9.9.9")).status, 429);
  assert.equal((await guess("10.0.0.1:2", "9.9.9.8")).status, 401);
  assert.equal((await guess("172.16.0.1:9", "5.5.5.5")).status, 429);
});

test("a login ends the session that the browser had before", async () => {
  const rig = await createLoginRig();
  const before = await rig.session();
  const form = await loadForm(rig);
  const answer = await post(rig, { csrf: form.csrf, cookie: `${form.cookie}; ${before}` });
  const after = cookieOf(answer, "wv_session") ?? "";
  assert.notEqual(after, before);
  assert.equal((await rig.ask("/api/x", { headers: { cookie: before } })).status, 401);
  assert.equal((await rig.ask("/api/x", { headers: { cookie: after } })).status, 200);
});

test("a logged-in user is redirected, to a path of this site only", async () => {
  const rig = await createLoginRig();
  const cookie = await rig.session();
  const rows = [["/a?b", "/a?b"], ["//evil.example", "/"], ["https://evil.example", "/"]];
  for (const [next = "", wanted] of rows) {
    const answer = await rig.ask(`/auth/login?next=${encodeURIComponent(next)}`, {
      headers: { ...NAVIGATION, cookie },
    });
    assert.equal(answer.headers.get("location"), wanted);
  }
});

test("an insecure address shows no form, but a link to a secure address", async () => {
  const rig = await createLoginRig({ env: { WEBVIEW_URL: "https://fleet.example.org" } });
  const answer = await rig.ask("http://box.lan:8736/auth/login", { headers: NAVIGATION });
  assert.equal(answer.status, 403);
  const text = await answer.text();
  assert.ok(text.includes("ssh -N -L 8736:127.0.0.1:8736 box.lan"), text);
  assert.ok(text.includes("http://localhost:8736/"));
  assert.ok(text.includes("https://fleet.example.org"));
  assert.ok(!text.includes("<form"));
  const page = await rig.ask("http://box.lan:8736/", { headers: NAVIGATION });
  assert.equal(page.status, 403, "not only at the login");
  const loopback = await rig.ask("http://127.0.0.1:8736/a?b", { headers: NAVIGATION });
  assert.equal(loopback.headers.get("location"), "http://localhost:8736/a?b");
  const secure = await rig.ask("http://box.lan:8736/auth/login", {
    headers: {
      ...NAVIGATION,
      "x-forwarded-proto": "https",
      "x-forwarded-host": "fleet.example.org",
    },
  });
  assert.equal(secure.status, 200);
  const foreign = await rig.ask("http://box.lan:8736/auth/login", {
    headers: { ...NAVIGATION, "x-forwarded-proto": "https" },
    peer: "10.1.1.1:1",
  });
  assert.equal(foreign.status, 421, "a peer that is not a trusted proxy cannot claim https");
});
