/**
 * Fuzz tests of the login proxy's parsers: token, cookie, return path, exempt path, forwarded-for
 * and header folding. Known hard inputs run first. `FLEETCTL_ROUNDS` sets the number of inputs.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { HeaderList } from "core/http1/header_list.ts";
import { parseNetwork } from "core/net/ip.ts";
import { openSigner } from "core/crypto/signed_value.ts";
import { callerOf } from "login/caller.ts";
import { COOKIES, createCookieJar, withoutOwnCookies } from "login/cookies.ts";
import { isExempt } from "login/proxy/exempt.ts";
import { requestHeaders, responseHeaders } from "login/proxy/headers.ts";
import { safeReturnPath } from "login/return_path.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 1_000);
const jar = createCookieJar("");

/** Checks the kept inputs, then generated ones. */
function holds<T>(kept: readonly T[], made: fc.Arbitrary<T>, check: (input: T) => void): void {
  fc.assert(fc.property(made, check), {
    numRuns: ROUNDS,
    examples: kept.map((one): [T] => [one]),
  });
}

const pieces = (...parts: readonly string[]) =>
  fc.array(fc.oneof(fc.constantFrom(...parts), fc.string({ unit: "binary", maxLength: 4 })), {
    maxLength: 12,
  }).map((all) => all.join(""));

const RETURN_KEPT = [
  "//evil.example",
  "/\\evil.example",
  "/%2f%2fevil.example",
  "/..//evil.example",
  "/x/../auth/logout",
  "/\t/evil.example",
  "https:evil.example",
  "/%5c%5cevil.example",
  "/a/%2e%2e//evil.example",
];

Deno.test("safeReturnPath() never leads to another origin, nor to a path without a page", () => {
  const made = pieces(
    ..."/ // \\ . .. %2f %5c %2e %00 %0a %09 ? # @ : ; evil.example http: https: javascript: [::1]"
      .split(" "),
    ..."auth api events logout terminal \t \n \0".split(" "),
  ).map((text) => (text.startsWith("/") ? text : `/${text}`));
  holds(RETURN_KEPT, made, (given) => {
    const back = safeReturnPath(given);
    assert.match(back, /^\/(?!\/)/);
    for (const base of ["https://cockpit.example/auth/login", "http://localhost:8736/x/y"]) {
      const url = new URL(back, base);
      assert.equal(url.origin, new URL(base).origin, JSON.stringify(given));
      assert.doesNotMatch(url.pathname, /^\/(?:auth|api|events|terminal)(?:\/|$)/i);
    }
    // deno-lint-ignore no-control-regex
    assert.doesNotMatch(back, /[\u0000-\u0020\\]/);
    assert.equal(safeReturnPath(back), back, "what is safe stays as it is");
  });
});

const EXEMPT_KEPT = [
  "/icons/../api",
  "/icons/%2e%2e/api",
  "/icons/a;b",
  "/icons//a",
  "/icons/a%23",
];

Deno.test("isExempt() lets nothing pass that could be read as another path", () => {
  const made = pieces(
    ..."/icons/ /fonts/ /sw.js /manifest.webmanifest .. . // %2f %2e %00 ; \\ # ? api a b".split(
      " ",
    ),
  ).map((text) => new URL(`http://x/${text.replace(/^\/+/, "")}`).pathname);
  holds(EXEMPT_KEPT, made, (path) => {
    if (!isExempt("GET", path)) return;
    assert.equal(new URL(path, "http://x").pathname, path, "one spelling");
    assert.equal(decodeURIComponent(path), path, "nothing to decode");
    assert.match(path, /^\/(?:icons\/|fonts\/|sw\.js$|manifest\.webmanifest$)/);
    assert.equal(isExempt("POST", path), false);
  });
});

const COOKIE_KEPT = [
  "wv_session=a; wv_session=b",
  "\u2000wv_session=a",
  "=wv_session=a",
  "wv_session",
  "a=1;wv_session=x;b=2",
];

Deno.test("the jar reads each cookie once, and no cookie of the proxy is forwarded", () => {
  const made = pieces(
    "wv_session",
    "WV_session",
    "__Host-wv_session",
    "=",
    ";",
    "; ",
    " ",
    "\t",
    '"',
    "a",
    "$Version=1",
  );
  holds(COOKIE_KEPT, made, (header) => {
    const value = jar.read(header, COOKIES.session);
    const exact = header.split(";").map((one) => one.replace(/^[ \t]+|[ \t]+$/g, ""))
      .filter((one) => one.startsWith("wv_session="));
    assert.equal(value, exact.length === 1 ? exact[0]?.slice("wv_session=".length) : undefined);
    const rest = withoutOwnCookies(header);
    assert.ok(rest === undefined || !/(?:^|; )\s*(?:__host-)?wv_/i.test(rest), `${rest}`);
  });
});

const FORWARDED_KEPT = [
  "6.6.6.6",
  "a",
  "",
  "unknown",
  "1.2.3.4:80",
  "::ffff:1.2.3.4",
  "1.1.1.1,,2.2.2.2",
];

Deno.test("callerOf() trusts only known proxies, and counts no invalid client address", () => {
  const trusted = [parseNetwork("127.0.0.0/8")!];
  const made = pieces(
    "1.2.3.4",
    "2001:db8::1",
    "127.0.0.1",
    ",",
    ", ",
    ":80",
    "[",
    "]",
    "%eth0",
    "unknown",
  );
  holds(FORWARDED_KEPT, made, (chain) => {
    const headers = new HeaderList([["host", "x"], ["x-forwarded-for", chain], [
      "x-real-ip",
      chain,
    ]]);
    const stranger = callerOf(headers, "9.9.9.9:1", trusted);
    assert.deepEqual([stranger.address, stranger.forwardedFor], ["9.9.9.9", "9.9.9.9"]);
    const behind = callerOf(headers, "127.0.0.1:1", trusted);
    assert.match(behind.address, /^(?:\d+\.\d+\.\d+\.\d+|[0-9a-f:]+)$/);
    assert.match(behind.forwardedFor, /^[0-9a-f.:, ]+$/);
  });
});

const FOLD_KEPT = [
  "X_User_Email",
  "x.user.email",
  "X-User_Email",
  "x-user-email ",
  "X--User--Email",
];

Deno.test("requestHeaders() passes on no name that folds to one of the proxy's", () => {
  const made = pieces(
    "x",
    "X",
    "-",
    "_",
    ".",
    "user",
    "User",
    "email",
    "EMAIL",
    "fleetctl",
    "assertion",
  )
    .filter((name) => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name));
  const caller = callerOf(new HeaderList([["host", "x"]]), "9.9.9.9:1", []);
  holds(FOLD_KEPT, made, (name) => {
    const from = new HeaderList([[name, "eve"]]);
    const to = requestHeaders(from, {
      caller,
      requestId: "1",
      identity: { principal: "mia", assertion: "a" },
    });
    for (const [passed, value] of to) {
      const folded = passed.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
      if (folded === "x-user-email") assert.equal(value, "mia");
      if (folded === "x-fleetctl-assertion") assert.equal(value, "a");
    }
    for (const [passed] of responseHeaders([[name.toLowerCase(), "x"]])) {
      assert.notEqual(passed.replace(/[^a-z0-9]+/g, "-"), "x-user-email");
    }
  });
});

Deno.test("verify() accepts only the output of sign(), and never throws", async () => {
  const signer = await openSigner([{ kid: "", key: "a-key-of-the-fuzz-000000" }], "session");
  const signed = await signer.sign({
    expiresAt: 2_000_000_000,
    principal: "mia@example.org",
    id: "1",
  });
  assert.ok(signed.ok);
  const good = signed.value;
  const cut = fc.tuple(fc.nat(good.length), fc.string({ unit: "binary", maxLength: 6 }), fc.nat(4))
    .map((
      [at, put, drop],
    ) => good.slice(0, at) + put + good.slice(at + drop));
  const kept = ["", ".", "..", `${good}.`, `${good}=`, ` ${good}`, good.replace(".", "..")];
  await fc.assert(
    fc.asyncProperty(fc.oneof(cut, fc.string({ unit: "binary" })), async (text) => {
      const read = await signer.verify(text, 0);
      assert.equal(read.ok, text === good, text);
    }),
    { numRuns: ROUNDS, examples: kept.map((one): [string] => [one]) },
  );
});
