/** Tests of identity, viewer, gates and assertion. @module */

import assert from "node:assert/strict";
import {
  type AssertionKeys,
  mintAssertion,
  parseAssertionKeys,
  verifyAssertion,
} from "core/access/assertion.ts";
import { decideGate, GATES } from "core/access/gates.ts";
import { checkIdentity, type IdentityLedger } from "core/access/identity.ts";
import { decideViewer, rosterOf, type Viewer } from "core/access/viewer.ts";
import { type AgentName, type Email, parseAgentName, parseEmail } from "core/names.ts";

function email(text: string): Email {
  const parsed = parseEmail(text);
  assert.ok(parsed.ok);
  return parsed.value;
}
function agent(text: string): AgentName {
  const parsed = parseAgentName(text);
  assert.ok(parsed.ok);
  return parsed.value;
}
const ledger: IdentityLedger = new Map([
  [email("mia@example.org"), agent("mia")],
  [email("bob@example.org"), agent("bob")],
]);
const roster = rosterOf(ledger, [agent("bob")]);

const identities = [
  { given: ["mia@example.org", "mia"], want: "mia" },
  { given: ["  MIA@Example.ORG ", "mia"], want: "mia" },
  { given: ["", "mia"], want: "identity-empty" },
  { given: ["   ", "mia"], want: "identity-empty" },
  { given: ["eve@example.org", "mia"], want: "identity-unknown" },
  { given: ["mia", "mia"], want: "identity-unknown" },
  { given: ["bob@example.org", "mia"], want: "identity-mismatch" },
  { given: ["mia@example.org", "Mia"], want: "identity-mismatch" },
  { given: ["mia@example.org", ""], want: "identity-mismatch" },
  { given: ["mia@example.org\nbob@example.org", "mia"], want: "identity-unknown" },
] as const;
for (const { given, want } of identities) {
  Deno.test(`checkIdentity() gives ${want} for ${JSON.stringify(given)}`, () => {
    const result = checkIdentity(ledger, given[0], given[1]);
    assert.equal(result.ok ? result.value : result.error, want);
  });
}

const verified = (subject: string) => ({ kind: "verified", subject }) as const;
const absent = { kind: "absent" } as const;
const invalid = { kind: "invalid" } as const;
const host = { kind: "host" } as const;
const viewers = [
  { trust: "assertion", email: null, assertion: host, want: "host" },
  { trust: "header", email: null, assertion: host, want: "host" },
  { trust: "header", email: "root", assertion: absent, want: "identity-unknown" },
  { trust: "assertion", email: "root", assertion: verified("root"), want: "identity-unknown" },
  {
    trust: "header",
    email: "mia@example.org",
    assertion: host,
    want: "assertion-other-identity",
  },
  { trust: "header", email: "mia@example.org", assertion: absent, want: "mia" },
  { trust: "header", email: " MIA@example.org", assertion: absent, want: "mia" },
  { trust: "header", email: null, assertion: absent, want: "identity-absent" },
  { trust: "header", email: "", assertion: absent, want: "identity-absent" },
  { trust: "header", email: "eve@example.org", assertion: absent, want: "identity-unknown" },
  { trust: "assertion", email: "mia@example.org", assertion: absent, want: "assertion-absent" },
  { trust: "assertion", email: "mia@example.org", assertion: invalid, want: "assertion-invalid" },
  {
    trust: "assertion",
    email: "mia@example.org",
    assertion: verified("bob@example.org"),
    want: "assertion-other-identity",
  },
  {
    trust: "assertion",
    email: null,
    assertion: verified("bob@example.org"),
    want: "identity-absent",
  },
  {
    trust: "assertion",
    email: "MIA@example.org",
    assertion: verified("mia@example.org"),
    want: "mia",
  },
  {
    trust: "assertion",
    email: "eve@example.org",
    assertion: verified("eve@example.org"),
    want: "identity-unknown",
  },
] as const;
for (const row of viewers) {
  Deno.test(`decideViewer(): ${row.want} ${row.trust} ${row.email} ${row.assertion.kind}`, () => {
    const claim = { headerEmail: row.email, assertion: row.assertion };
    const viewer = decideViewer(claim, row.trust, roster);
    const got = viewer.kind === "owner"
      ? viewer.agent
      : viewer.kind === "host"
      ? "host"
      : viewer.reason;
    assert.equal(got, row.want);
  });
}

const noIdentity: Viewer = { kind: "denied", reason: "identity-absent" };
const owner: Viewer = { kind: "owner", email: "m", agent: agent("mia"), isAdmin: false };
const admin: Viewer = { kind: "owner", email: "b", agent: agent("bob"), isAdmin: true };
/** The viewers that pass each gate, for an external request about agent mia. */
const passes = {
  open: ["nobody", "owner", "other", "admin", "host"],
  loopback: [],
  viewer: ["owner", "other", "admin"],
  allowAgent: ["owner", "admin"],
  fleetView: ["admin"],
  hostView: ["host"],
} as const;
const callers = {
  nobody: noIdentity,
  owner,
  other: { ...owner, agent: agent("zed") },
  admin,
  host: { kind: "host" },
} as const;
for (const gate of GATES) {
  for (const [name, viewer] of Object.entries(callers)) {
    const want = (passes[gate] as readonly string[]).includes(name);
    Deno.test(`decideGate() ${want ? "lets" : "does not let"} ${name} pass ${gate}`, () => {
      const decision = decideGate(gate, { viewer, isLocalProgram: false, agents: ["mia"] });
      assert.equal(decision.allow, want);
    });
  }
}

Deno.test("decideGate() admits a local program at the gate loopback", () => {
  const input = { viewer: noIdentity, isLocalProgram: true, agents: [] };
  assert.equal(decideGate("loopback", input).allow, true);
});

Deno.test("decideGate() requires at least one agent, and each must be the owner's", () => {
  const of = (agents: readonly string[]) =>
    decideGate("allowAgent", { viewer: owner, isLocalProgram: false, agents }).allow;
  assert.equal(of(["mia", "bob"]), false);
  assert.equal(of([]), false);
  assert.equal(of(["mia", "mia"]), true);
});

const NOW = 1_800_000_000_000;
const asked = { subject: "mia@example.org", method: "POST", path: "/api/turns" };
async function keys(text: string): Promise<AssertionKeys> {
  const parsed = await parseAssertionKeys(text);
  assert.ok(parsed.ok);
  return parsed.value;
}
const OLD = "k1:0123456789abcdef0123456789abcdef";
const NEW = "k2:fedcba9876543210fedcba9876543210";

Deno.test("verifyAssertion() accepts an assertion for exactly this request", async () => {
  const ring = await keys(OLD);
  const token = await mintAssertion(ring, asked, { nowMs: NOW });
  const request = { method: "post", path: "/api/turns", nowMs: NOW };
  const got = await verifyAssertion(ring, token, request);
  assert.deepEqual(got, { ok: true, value: "mia@example.org" });
});

Deno.test("verifyAssertion() accepts every key of the ring, and the first one signs", async () => {
  const token = await mintAssertion(await keys(OLD), asked, { nowMs: NOW });
  const request = { method: "POST", path: "/api/turns", nowMs: NOW };
  const both = await keys(`${NEW},${OLD}`);
  assert.equal((await verifyAssertion(both, token, request)).ok, true);
  const fresh = await mintAssertion(both, asked, { nowMs: NOW });
  assert.equal((await verifyAssertion(await keys(NEW), fresh, request)).ok, true);
  const gone = await verifyAssertion(await keys(NEW), token, request);
  assert.equal(gone.ok ? "" : gone.error, "key-unknown");
});

const refusals = [
  { name: "another method", request: { method: "GET" }, want: "other-request" },
  { name: "another path", request: { path: "/api/turns/cancel" }, want: "other-request" },
  { name: "a later time", request: { nowMs: NOW + 63_000 }, want: "expired" },
  { name: "an earlier time", request: { nowMs: NOW - 10_000 }, want: "signature" },
] as const;
for (const { name, request, want } of refusals) {
  Deno.test(`verifyAssertion() refuses ${name} as ${want}`, async () => {
    const ring = await keys(OLD);
    const token = await mintAssertion(ring, asked, { nowMs: NOW, seconds: 60 });
    const got = await verifyAssertion(ring, token, {
      method: "POST",
      path: "/api/turns",
      nowMs: NOW,
      ...request,
    });
    assert.equal(got.ok ? "" : got.error, want);
  });
}

Deno.test("verifyAssertion() refuses garbage, a wrong key, and alg none", async () => {
  const ring = await keys(OLD);
  const other = await keys("k1:another-key-another-key-another!");
  const request = { method: "POST", path: "/api/turns", nowMs: NOW };
  const token = await mintAssertion(other, asked, { nowMs: NOW });
  const none = `${btoa('{"alg":"none","kid":"k1"}').replace(/=/g, "")}.${token.split(".")[1]}.`;
  for (const text of ["", "a.b.c", token, none, "x".repeat(10_000)]) {
    assert.equal((await verifyAssertion(ring, text, request)).ok, false);
  }
});

Deno.test("mintAssertion() makes assertions that last at most a minute", async () => {
  const ring = await keys(OLD);
  const token = await mintAssertion(ring, asked, { nowMs: NOW, seconds: 3600 });
  const claims = JSON.parse(atob(token.split(".")[1] ?? "")) as { exp: number; iat: number };
  assert.equal(claims.exp - claims.iat, 60);
});

Deno.test("parseAssertionKeys() refuses a short key", async () => {
  const parsed = await parseAssertionKeys("short");
  assert.equal(parsed.ok ? "" : parsed.error.code, "key-ring-invalid");
});
