/**
 * Attacks that involve several modules of the login proxy: each is refused, and the cockpit sees
 * nothing.
 *
 * @module
 */

import assert from "node:assert/strict";
import { HeaderList } from "core/http1/header_list.ts";
import { openSigner } from "core/crypto/signed_value.ts";
import { FORM_PURPOSE } from "login/basic/form_token.ts";
import type { HashPool } from "login/basic/passwords.ts";
import { BROWSER_PURPOSE } from "login/oidc/flows.ts";
import { SESSION_PURPOSE } from "login/session/sessions.ts";
import {
  basicHeader,
  BOB,
  cookieOf,
  createLoginRig,
  type LoginRig,
  MIA,
  NAVIGATION,
  ORIGIN,
  OWN_SCRIPT,
} from "tests/support/login_fixture.ts";
import { createOidcRig } from "tests/support/oidc_fixture.ts";

function test(name: string, run: () => Promise<void>): void {
  Deno.test({ name, sanitizeOps: true, sanitizeResources: true, fn: run });
}

/** Sends a cookie as a person and as a program; asserts that both are refused. */
async function refusesCookie(rig: LoginRig, cookie: string, why: string): Promise<void> {
  const before = rig.seen.length;
  const program = await rig.ask("/api/agents", { headers: { cookie, ...OWN_SCRIPT } });
  assert.equal(program.status, 401, why);
  const person = await rig.ask("/agents", { headers: { ...NAVIGATION, cookie } });
  assert.equal(person.status, 303, why);
  assert.match(person.headers.get("location") ?? "", /^\/auth\/login/, why);
  assert.equal(rig.seen.length, before, `${why}: the cockpit saw nothing`);
}

test("A5: a value signed for one purpose is invalid for another, in any cookie", async () => {
  const rig = await createLoginRig();
  const good = await rig.session();
  const [, token = ""] = good.split("=");
  const values = { session: token, form: "", state: "" };
  const fields = { expiresAt: Math.floor(rig.host.clock.now() / 1000) + 600, principal: MIA.name };
  for (const [name, purpose] of [["form", FORM_PURPOSE], ["state", BROWSER_PURPOSE]] as const) {
    const signed = await (await openSigner(rig.config.hmacKeys, purpose)).sign(fields);
    assert.ok(signed.ok);
    values[name] = signed.value;
  }
  for (const [name, value] of Object.entries(values)) {
    if (name !== "session") await refusesCookie(rig, `wv_session=${value}`, name);
  }
  const session = await (await openSigner(rig.config.hmacKeys, SESSION_PURPOSE)).sign(fields);
  assert.ok(session.ok);
  await refusesCookie(rig, `wv_session=${session.value}`, "signed, without a row");
  for (const value of Object.values(values)) {
    const posted = await rig.ask("/auth/login", {
      method: "POST",
      headers: {
        ...NAVIGATION,
        origin: ORIGIN,
        "sec-fetch-site": "same-origin",
        cookie: `wv_login_csrf=${value}`,
      },
      body: new URLSearchParams({ csrf: value, user: BOB.name, password: BOB.password, next: "/" }),
    });
    assert.equal(posted.status, value === values.form ? 303 : 403);
  }
});

test("A7: an ambiguous principal cannot be signed and is not accepted", async () => {
  const rig = await createLoginRig();
  const signer = await openSigner(rig.config.hmacKeys, SESSION_PURPOSE);
  const expiresAt = Math.floor(rig.host.clock.now() / 1000) + 600;
  for (const principal of ["", "  ", "a\0b", "a\r\nb", "a|b", "x".repeat(10_000)]) {
    const signed = await signer.sign({ expiresAt, principal, id: "x" });
    assert.equal(signed.ok, false, JSON.stringify(principal));
  }
});

test("A11: cookies that only a lenient parser would accept are ignored", async () => {
  const rig = await createLoginRig();
  const good = (await rig.session()).slice("wv_session=".length);
  for (
    const cookie of [
      `$Version=1; wv_session="${good}"`,
      `wv_session="${good}"`,
      `=wv_session=${good}`,
      `wv_session =${good}`,
      `WV_SESSION=${good}`,
      `__Host-wv_session=${good}`,
      `wv_session=${good}%20`,
      `wv_session=${good},`,
      `wv%5fsession=${good}`,
      `a=b,wv_session=${good}`,
      // U+2000 before the name, as bytes. A reader that trims Unicode would accept it.
      `\xe2\x80\x80wv_session=${good}`,
      `wv_session=${good}; __Host-wv_session=${good}; wv_session=${good}`,
    ]
  ) await refusesCookie(rig, cookie, cookie.slice(0, 30));
});

test("A12: several Cookie headers are one list; a repeated session is invalid", async () => {
  const rig = await createLoginRig();
  const [session, other] = [await rig.session(), await rig.session()];
  const asked = async (...lines: readonly string[]) => {
    const headers = new HeaderList([["host", "localhost:8736"]]);
    for (const line of lines) headers.append("Cookie", line);
    const url = new URL(`${ORIGIN}/api/agents`);
    const request = { method: "GET", url, headers, body: null, onDisconnect: () => {} };
    return (await rig.app.handle(request, "127.0.0.1:40000")).status;
  };
  assert.equal(await asked("theme=dark", session, "a=b"), 200);
  assert.equal(rig.seen.at(-1)?.headers.get("cookie"), "theme=dark; a=b");
  const before = rig.seen.length;
  for (const lines of [[session, other], [session, "wv_session=x"], ["wv_session=x", session]]) {
    assert.equal(await asked(...lines), 401, lines.join(" / "));
    assert.equal(await asked(lines.join("; ")), 401, "the same in one line");
  }
  assert.equal(rig.seen.length, before, "the cockpit saw nothing");
});

test("A13: cookies of any number and size open no session, and cost little", async () => {
  const rig = await createLoginRig();
  for (const bytes of [4_096, 16_384, 65_536, 1_048_576]) {
    await refusesCookie(rig, `wv_session=${"A".repeat(bytes)}`, `${bytes} bytes`);
    await refusesCookie(
      rig,
      `wv_session=${"A".repeat(bytes)}.${"B".repeat(43)}`,
      `${bytes} signed`,
    );
  }
  await refusesCookie(rig, "a=b; ".repeat(10_000), "ten thousand");
});

test("A17: a session of another host with the same key is invalid here", async () => {
  const [here, there] = [await createLoginRig(), await createLoginRig()];
  await refusesCookie(here, await there.session(), "another store");
});

test("D41: the return path is fixed at the start, whatever the callback's query", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  const back = rig.provider.signIn(await browser.begin("/agents/ada"), {
    sub: "a",
    email: "a@b.c",
  });
  back.searchParams.set("next", "//evil.example");
  back.searchParams.set("redirect_uri", "https://evil.example/");
  const done = await browser.ask(back.pathname + back.search);
  assert.equal(done.headers.get("location"), "/agents/ada");
});

test("D42: no return path adds a second header", async () => {
  const rig = await createLoginRig();
  for (const path of ["/a%0d%0aset-cookie:x=y", "/a%0aLocation:%20https://evil.example"]) {
    const answer = await rig.ask(path, { headers: NAVIGATION });
    assert.equal(answer.status, 303);
    assert.equal(answer.headers.get("location"), "/auth/login");
    assert.equal(answer.headers.get("x"), null);
  }
});

test("D43: the provider redirects to WEBVIEW_URL; requests to other names get 421", async () => {
  const rig = await createOidcRig({ env: { WEBVIEW_URL: "https://cockpit.example" } });
  const login = async (headers: Record<string, string>, peer: string) =>
    await rig.ask("/auth/login", { headers: { ...NAVIGATION, ...headers }, peer });
  const behind = await login(
    { host: "evil.example", "x-forwarded-proto": "https" },
    "127.0.0.1:1",
  );
  const address = new URL(behind.headers.get("location") ?? "");
  assert.equal(address.searchParams.get("redirect_uri"), "https://cockpit.example/auth/callback");
  for (
    const host of ["evil.example", "cockpit.example.evil.example", "cockpit.example@evil.example"]
  ) {
    const direct = await login({ host }, "10.1.1.1:1");
    assert.ok([400, 421].includes(direct.status), `${host}: ${direct.status}`);
  }
  for (const host of ["cockpit.example", "cockpit.example:443", "10.0.0.5:8736", "[::1]:8736"]) {
    assert.notEqual((await login({ host }, "10.1.1.1:1")).status, 421, host);
  }
  const socket = await rig.ask("/api/agents", {
    headers: { host: "evil.example" },
    peer: "10.1.1.1:1",
  });
  assert.equal(socket.status, 421);
  assert.deepEqual(rig.seen, []);
});

test("F75: a name counts once in any case, normal form, and with spaces around it", async () => {
  const rig = await createLoginRig();
  const spellings = [
    "mia@example.org",
    " MIA@example.org ",
    "Mia@Example.Org",
    "mia@example.org\t",
  ];
  for (let count = 0; count < 50; count++) {
    const name = spellings[count % spellings.length] ?? "";
    const peer = `10.${count}.1.1:1`;
    const answer = await rig.logIn({ name, password: "wrong" }, { peer });
    assert.equal(answer.status, 401);
  }
  for (const name of spellings) {
    const answer = await rig.logIn({ name, password: MIA.password }, { peer: "10.200.1.1:1" });
    assert.equal(answer.status, 429, name);
  }
});

test("F80: a request from another site changes nothing, even with a password", async () => {
  const rig = await createLoginRig();
  for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }]) {
    const answer = await rig.ask("/api/turns", {
      method: "POST",
      headers: { ...headers, authorization: basicHeader(BOB) } as Record<string, string>,
      body: "{}",
    });
    assert.equal(answer.status, 403);
  }
  assert.deepEqual(rig.seen, []);
});

test("F81: five hundred guesses at the same time get eight checks", async () => {
  const rig = await createLoginRig();
  const answers = await Promise.all(
    Array.from({ length: 500 }, (_, index) =>
      rig.ask("/api/x", {
        headers: { authorization: basicHeader({ name: MIA.name, password: `guess ${index}` }) },
      })),
  );
  const checked = answers.filter(({ status }) => status === 401).length;
  assert.deepEqual([checked, answers.length - checked], [8, 492]);
  assert.ok(answers.every(({ status }) => status === 401 || status === 429));
  assert.deepEqual(rig.seen, []);
});

test("F69: a form token in the URL is ignored", async () => {
  const rig = await createLoginRig();
  const form = await rig.ask("/auth/login", { headers: NAVIGATION });
  const cookie = cookieOf(form, "wv_login_csrf") ?? "";
  const csrf = /name="csrf" value="([^"]*)"/.exec(await form.text())?.[1] ?? "";
  const answer = await rig.ask(`/auth/login?csrf=${csrf}`, {
    method: "POST",
    headers: { ...NAVIGATION, "sec-fetch-site": "same-origin", origin: ORIGIN, cookie },
    body: new URLSearchParams({ user: MIA.name, password: MIA.password }),
  });
  assert.equal(answer.status, 403);
  assert.equal(cookieOf(answer, "wv_session"), undefined);
});

test("F74: lines and spellings of X-Forwarded-For allow no further guess", async () => {
  const rig = await createLoginRig({ env: { WEBVIEW_TRUSTED_PROXIES: "10.0.0.1" } });
  const guess = async (peer: string, lines: readonly string[]) => {
    const headers = new HeaderList([["host", "localhost:8736"]]);
    headers.append("authorization", basicHeader({ ...MIA, password: "no" }));
    for (const line of lines) headers.append("X-Forwarded-For", line);
    headers.append("X-Real-IP", "7.7.7.7");
    const url = new URL(`${ORIGIN}/api/agents`);
    const request = { method: "GET", url, headers, body: null, onDisconnect: () => {} };
    return (await rig.app.handle(request, peer)).status;
  };
  const chains = [
    ["9.9.9.9"],
    ["6.6.6.6", "9.9.9.9"],
    ["6.6.6.6, 9.9.9.9"],
    ["unknown, 9.9.9.9"],
    ["a, b, c", "9.9.9.9:1234"],
    ["::ffff:9.9.9.9"],
    ["[::ffff:9.9.9.9]:1"],
    [`${"1.1.1.1, ".repeat(1_000)}9.9.9.9`],
  ];
  for (const chain of chains) {
    assert.equal(await guess("10.0.0.1:1", chain), 401, chain.join(" / ").slice(0, 60));
  }
  assert.equal(await guess("10.0.0.1:2", ["9.9.9.9"]), 429, "one client all along");
  assert.equal(await guess("10.0.0.1:3", ["8.8.8.8"]), 401, "another is not");
  for (let count = 0; count < 8; count++) {
    assert.equal(await guess("5.5.5.5:1", [`4.4.4.${count}`]), 401);
  }
  assert.equal(await guess("5.5.5.5:1", ["4.4.4.9"]), 429, "a stranger cannot name another client");
  assert.deepEqual(rig.seen, []);
});

test("F77: known user, unknown user and wrong password cost the same hashes", async () => {
  const jobs: string[] = [];
  const hashes: HashPool = {
    atOnce: 1,
    argon2id: (job) => {
      jobs.push(`argon2id ${job.memorySize} ${job.iterations}`);
      return Promise.resolve(new Uint8Array(job.hashLength));
    },
    scrypt: (job) => {
      jobs.push(`scrypt ${job.costFactor}`);
      return Promise.resolve(new Uint8Array(job.hashLength));
    },
    bcryptVerify: ({ hash }) => {
      jobs.push(`bcrypt ${hash.slice(4, 6)}`);
      return Promise.resolve(false);
    },
  };
  const entries = {
    argon: "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
    crypt: "$2b$12$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
    plain: "a-plain-password",
  };
  const users = Object.entries(entries).map(([name, stored]) => `${name}@example.org:${stored}`);
  const rig = await createLoginRig({
    env: { WEBVIEW_BASIC_USERS: users.join(",") },
    hashes,
  });
  const work: string[] = [];
  for (const name of ["argon", "crypt", "plain", "nobody", "x".repeat(300)]) {
    for (const password of ["wrong", "w".repeat(2_000)]) {
      jobs.length = 0;
      const authorization = basicHeader({ name: `${name}@example.org`, password });
      const peer = `10.9.${work.length}.1:1`;
      assert.equal((await rig.ask("/api/x", { headers: { authorization }, peer })).status, 401);
      work.push(jobs.join(", "));
    }
  }
  assert.deepEqual(new Set(work), new Set(["argon2id 65536 2, bcrypt 12"]));
  assert.deepEqual(rig.seen, []);
});

test("F82: setting the clock neither ends nor begins a limit", async () => {
  const rig = await createLoginRig();
  const wrong = { authorization: basicHeader({ ...MIA, password: "no" }) };
  for (let count = 0; count < 8; count++) {
    assert.equal((await rig.ask("/api/x", { headers: wrong })).status, 401);
  }
  const right = { authorization: basicHeader(MIA) };
  const start = rig.host.clock.now();
  for (const offset of [3_600_000, -3_600_000, 0]) {
    rig.host.clock.setNow(start + offset);
    assert.equal((await rig.ask("/api/x", { headers: right })).status, 429, `${offset}`);
  }
  assert.deepEqual(rig.seen, []);
  await rig.host.clock.advance(60_000);
  assert.equal((await rig.ask("/api/x", { headers: right })).status, 200);
});

test("traffic between the cockpit and its page passes unchanged", async () => {
  const sent = { "x-webauthn-state": "a.b|c", "last-event-id": "e1:42", "accept-encoding": "br" };
  const rig = await createLoginRig({
    cockpit: () =>
      new Response("x", { headers: { ...sent, "x-accel-buffering": "no", etag: '"1"' } }),
  });
  const cookie = await rig.session();
  const answer = await rig.ask("/api/passkeys/x", { headers: { ...sent, cookie } });
  for (const [name, value] of Object.entries(sent)) {
    assert.equal(rig.seen.at(-1)?.headers.get(name), value, name);
    assert.equal(answer.headers.get(name), value, name);
  }
  assert.deepEqual([answer.headers.get("x-accel-buffering"), answer.headers.get("etag")], [
    "no",
    '"1"',
  ]);
});

test("no secret of a login is in any line of the log", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  await browser.signIn();
  rig.provider.lies.claims = (claims) => ({ ...claims, nonce: "other" });
  await rig.browser().signIn();
  await browser.ask("/auth/callback?code=a-code-of-eve&state=a-state-of-eve");
  const log = JSON.stringify(rig.host.log.lines);
  const secrets = [
    ...browser.cookies.values(),
    "a-client-secret",
    "a-code-of-eve",
    "a-state-of-eve",
  ];
  for (const secret of [...secrets, "access-", "refresh-1", "code-"]) {
    assert.ok(!log.includes(secret), secret);
  }
});
