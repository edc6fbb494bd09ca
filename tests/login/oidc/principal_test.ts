/**
 * The principal that a set of claims gives, and which person owns an address.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Claims,
  PRINCIPAL_CLAIMS,
  principalOf,
  type PrincipalRules,
} from "login/oidc/principal.ts";
import { ADA, createOidcRig } from "tests/support/oidc_fixture.ts";

const SINGLE: PrincipalRules = { isMultiTenant: false, claims: PRINCIPAL_CLAIMS, tenants: [] };
const MULTI: PrincipalRules = { ...SINGLE, isMultiTenant: true };
const OURS: PrincipalRules = { ...MULTI, tenants: ["our-tenant", "example.org"] };

const ROWS: readonly (readonly [string, Claims, PrincipalRules, string])[] = [
  ["e-mail first", { email: "a@b.c", preferred_username: "x@y.z" }, SINGLE, "a@b.c"],
  ["then the preferred name", { preferred_username: "x@y.z", upn: "u@v.w" }, SINGLE, "x@y.z"],
  ["then the upn", { upn: "U@V.W" }, SINGLE, "u@v.w"],
  ["an empty claim counts as absent", { email: "", upn: "u@v.w" }, SINGLE, "u@v.w"],
  ["nothing", { name: "Ada" }, SINGLE, "no-claim"],
  ["not verified", { email: "a@b.c", email_verified: false }, SINGLE, "email-not-verified"],
  [
    "not verified, as a text",
    { email: "a@b.c", email_verified: "false" },
    SINGLE,
    "email-not-verified",
  ],
  [
    "not verified, as a number",
    { email: "a@b.c", email_verified: 0 },
    SINGLE,
    "email-not-verified",
  ],
  ["not verified, as null", { email: "a@b.c", email_verified: null }, SINGLE, "email-not-verified"],
  [
    "not verified beside a upn",
    { upn: "a@b.c", email_verified: false },
    SINGLE,
    "email-not-verified",
  ],
  ["a list", { email: ["a@b.c"], upn: "u@v.w" }, SINGLE, "claim-malformed"],
  ["an object", { email: { a: 1 } }, SINGLE, "claim-malformed"],
  ["two at signs", { email: "eve@evil.com@example.org" }, SINGLE, "claim-malformed"],
  ["a comment", { email: "a(b)@c.d" }, SINGLE, "claim-malformed"],
  ["a quoted local part", { email: '"a b"@c.d' }, SINGLE, "claim-malformed"],
  ["a space behind", { email: "a@b.c " }, SINGLE, "claim-malformed"],
  ["a vertical bar", { email: "a@b.c\r\nX-User-Email: eve" }, SINGLE, "claim-malformed"],
  ["a bar", { email: "a|b@c.d" }, SINGLE, "claim-malformed"],
  ["a NUL", { email: "a@b.c\0" }, SINGLE, "claim-malformed"],
  ["a dotless i", { email: "m\u0131a@b.c" }, SINGLE, "claim-malformed"],
  ["a Kelvin sign", { email: "\u212aim@b.c" }, SINGLE, "claim-malformed"],
  ["a full-width letter", { email: "\uff41@b.c" }, SINGLE, "claim-malformed"],
  ["a dot behind the domain", { email: "a@b.c." }, SINGLE, "claim-malformed"],
  ["10 kB", { email: `${"a".repeat(10_000)}@b.c` }, SINGLE, "claim-malformed"],
  ["upper case", { email: "Ada@Example.ORG" }, SINGLE, "ada@example.org"],
  ["punycode", { email: "a@xn--bcher-kva.example" }, SINGLE, "a@xn--bcher-kva.example"],
  ["a public provider, verified", { email: "a@b.c", email_verified: true }, MULTI, "a@b.c"],
  ["a public provider, verification not stated", { email: "a@b.c" }, MULTI, "email-not-verified"],
  [
    "a public provider, a name that looks like an address",
    { preferred_username: "victim@example.org" },
    MULTI,
    "email-not-verified",
  ],
  [
    "a public provider, a upn beside a verified address",
    { upn: "victim@example.org", email_verified: true },
    MULTI,
    "no-claim",
  ],
  ["a trusted tenant", { upn: "a@b.c", tid: "Our-Tenant" }, OURS, "a@b.c"],
  [
    "a trusted tenant that does not own the domain",
    { upn: "a@b.c", tid: "our-tenant", xms_edov: false },
    OURS,
    "email-not-verified",
  ],
  ["another tenant", { upn: "a@b.c", tid: "evil" }, OURS, "email-not-verified"],
  ["a trusted domain", { email: "a@b.c", hd: "example.org" }, OURS, "a@b.c"],
  ["another tenant, verified", { email: "a@b.c", email_verified: true, tid: "x" }, OURS, "a@b.c"],
];
for (const [name, claims, rules, wanted] of ROWS) {
  Deno.test(`principalOf() ${name}`, () => {
    const found = principalOf(claims, rules);
    assert.equal(found.ok ? found.value : found.error, wanted);
  });
}

Deno.test("principalOf() returns only text that fits a header and a token field", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.emailAddress());
  fc.assert(fc.property(text, fc.boolean(), (email, isVerified) => {
    const found = principalOf({ email, email_verified: isVerified }, SINGLE);
    if (!found.ok) return;
    assert.ok(isVerified);
    assert.match(found.value, /^[\x21-\x7e]+@[\x21-\x7e]+$/);
    assert.doesNotMatch(found.value, /[|,;:<>()[\]\\"A-Z]/);
    assert.equal(found.value, email.toLowerCase());
  }));
});

Deno.test("an address belongs to the identity that first logged in with it", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  assert.equal((await browser.signIn()).status, 303);
  assert.deepEqual(
    rig.store.pins.list().map(({ address, issuer, subject }) => [address, issuer, subject]),
    [["ada@example.org", "https://idp.example", "ada-1"]],
  );
  const reissued = rig.browser();
  assert.equal((await reissued.signIn({ ...ADA, sub: "ada-2" })).status, 403);
  const [line] = rig.host.log.of("sign-in refused");
  assert.match(JSON.stringify(line), /webview-login pins clear ada@example.org/);
  assert.equal((await rig.browser().signIn()).status, 303, "the first one still may");
});

Deno.test("a cleared pin ends the sessions of its address; the next is pinned", async () => {
  const rig = await createOidcRig();
  const browser = rig.browser();
  await browser.signIn();
  browser.cookies.delete("wv_refresh_ref");
  assert.equal((await browser.ask("/api/x")).status, 200);
  assert.deepEqual(rig.store.pins.clear("ada@example.org"), { ok: true, value: true });
  await rig.host.clock.advance(250);
  assert.equal((await browser.ask("/api/x", { headers: { accept: "*/*" } })).status, 401);
  assert.equal((await rig.browser().signIn({ ...ADA, sub: "ada-2" })).status, 303);
});
