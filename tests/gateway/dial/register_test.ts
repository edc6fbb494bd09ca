/**
 * The register table on real sockets: which callers are accepted, what the others receive, and what
 * is logged.
 *
 * @module
 */

import assert from "node:assert/strict";
import { CLOSE, DIAL_SUBPROTOCOL, dialProofText } from "core/dial/frames.ts";
import { generateDialKey, signProof } from "core/dial/proof.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { decideRegister, type RegisterFacts, rejectedLine } from "gateway/dial/register.ts";
import { memoryHost } from "tests/fakes/host.ts";
import {
  connectBare,
  gatewayTest as test,
  proveKey,
  startTestGateway,
} from "tests/support/gateway_fixture.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;
const DENIED = { code: CLOSE.policyViolation, reason: "not authorized" };

const rejections = [
  {
    name: "the identity belongs to another agent",
    frame: { type: "register", user_email: " Bob@Example.org", agent: "mia" },
    line: 'register rejected agent="mia" (user_email "bob@example.org" not authorized) ' +
      "reason=identity-mismatch",
  },
  {
    name: "the identity is unknown",
    frame: { type: "register", user_email: "eve@example.org", agent: "mia" },
    line: 'register rejected agent="mia" (user_email "eve@example.org" not authorized) ' +
      "reason=identity-unknown",
  },
  {
    name: "the identity is empty",
    frame: { type: "register", user_email: "  ", agent: "mia" },
    line: 'register rejected agent="mia" (user_email "" not authorized) reason=identity-empty',
  },
  {
    name: "the agent does not exist",
    frame: { type: "register", user_email: "mia@example.org", agent: "nobody" },
    line: 'register rejected agent="nobody" (user_email "mia@example.org" not authorized) ' +
      "reason=identity-mismatch",
  },
  {
    name: "a host comes without a key",
    frame: { type: "register", user_email: "", agent: "host:atlas" },
    line: 'register rejected agent="host:atlas" (user_email "" not authorized) ' +
      "reason=proof-absent",
  },
  {
    name: "a proof comes without a challenge",
    frame: { type: "register", user_email: "mia@example.org", agent: "mia", key: "k", proof: "p" },
    line: 'register rejected agent="mia" (user_email "mia@example.org" not authorized) ' +
      "reason=proof-without-challenge",
  },
  {
    name: "the first frame is no register frame",
    frame: { type: "bye", reason: "x" },
    line: 'register rejected agent="" (user_email "" not authorized) ' +
      "reason=first-frame-not-register",
  },
  {
    name: "the first frame is of an unknown type",
    frame: { type: "dance" },
    line: 'register rejected agent="" (user_email "" not authorized) reason=first-frame-invalid',
  },
];
for (const { name, frame, line } of rejections) {
  test(`register is refused without a reason when ${name}`, async (running) => {
    const client = await connectBare(running.dialUrl);
    client.send(frame);
    assert.deepEqual(await client.closed, DENIED);
    assert.equal(running.host.log.of(line).length, 1);
    assert.equal(client.frames.length, 0);
  });
}

test("register needs the ledger check alone when the agent has no key", async (running) => {
  const client = await connectBare(running.dialUrl);
  client.send({ type: "register", user_email: " MIA@example.org ", agent: "mia", extra: 1 });
  const registered = await client.next("registered");
  assert.equal(registered.acked_seq, 0);
  assert.equal(registered.version, "1.2.3");
  const line = 'register accepted agent="mia" (user_email "mia@example.org")';
  assert.equal(running.host.log.of(line).length, 1);
});

test("register is refused when the first frame is late", async (running) => {
  const client = await connectBare(running.dialUrl, { protocols: [DIAL_SUBPROTOCOL] });
  await client.next("challenge");
  await running.host.clock.advance(DIAL_LIMITS.registerSeconds * 1000);
  assert.deepEqual(await client.closed, DENIED);
  const line = 'register rejected agent="" (user_email "" not authorized) ' +
    "reason=first-frame-late";
  assert.equal(running.host.log.of(line).length, 1);
});

test("register is refused when the first frame is too big", async (running) => {
  const client = await connectBare(running.dialUrl);
  const pad = "x".repeat(DIAL_LIMITS.unregisteredFrameBytesMax);
  client.send({ type: "register", user_email: "mia@example.org", agent: "mia", pad });
  assert.equal((await client.closed).code, CLOSE.tooBig);
  const line = 'register rejected agent="" (user_email "" not authorized) ' +
    "reason=first-frame-too-big";
  await running.host.log.next(line);
});

const browsers = [
  { name: "a Sec-Fetch header", headers: { "sec-fetch-mode": "websocket" } },
  { name: "the Origin of another site", headers: { origin: "https://evil.example.org" } },
  { name: "an opaque Origin", headers: { origin: "null" } },
];
for (const { name, headers } of browsers) {
  test(`a browser is refused before the upgrade when it shows ${name}`, async (running) => {
    await assert.rejects(connectBare(running.dialUrl, { headers }), /403/);
  });
}

test("a client with the gateway's own origin is not taken for a browser", async (running) => {
  const origin = running.dialUrl.replace("ws:", "http:");
  const client = await connectBare(running.dialUrl, { headers: { origin } });
  client.send({ type: "register", user_email: "mia@example.org", agent: "mia" });
  await client.next("registered");
});

test("the first proof enrolls a key, and from then on the key must be proven", async (running) => {
  const { key } = await generateDialKey();
  const first = await proveKey(running.dialUrl, key);
  await first.next("registered");
  assert.deepEqual(running.host.log.of("dial key enrolled")[0]?.fields, {
    agent: "mia",
    key: key.publicKey,
  });
  const plain = await connectBare(running.dialUrl);
  plain.send({ type: "register", user_email: "mia@example.org", agent: "mia" });
  assert.deepEqual(await plain.closed, DENIED);
  const stranger = await proveKey(running.dialUrl, (await generateDialKey()).key);
  assert.deepEqual(await stranger.closed, DENIED);
  const again = await proveKey(running.dialUrl, key);
  await again.next("registered");
  const reasons = running.host.log.lines.map((line) => / reason=(\S+)$/.exec(line.event)?.[1]);
  assert.deepEqual(reasons.filter(Boolean), ["proof-absent", "key-not-enrolled"]);
  assert.equal((await first.closed).code, CLOSE.replaced);
});

test("a proof with a replayed nonce, another host or garbage is refused", async (running) => {
  const { key } = await generateDialKey();
  let old: Record<string, unknown> = {};
  const first = await proveKey(running.dialUrl, key, { spoil: (frame) => old = { ...frame } });
  await first.next("registered");
  const replayed = await proveKey(running.dialUrl, key, {
    spoil: (frame) => Object.assign(frame, old),
  });
  assert.deepEqual(await replayed.closed, DENIED);
  const moved = await proveKey(running.dialUrl, key, { spoil: (frame) => frame.host = "castor" });
  assert.deepEqual(await moved.closed, DENIED);
  const broken = await proveKey(running.dialUrl, key, { spoil: (frame) => frame.proof = "AAAA" });
  assert.deepEqual(await broken.closed, DENIED);
  const reasons = running.host.log.lines.map((line) => / reason=(\S+)$/.exec(line.event)?.[1]);
  assert.deepEqual(reasons.filter(Boolean), Array(3).fill("proof-invalid"));
});

test("a proof made for another gateway is refused", async (running) => {
  const { key } = await generateDialKey();
  const client = await connectBare(running.dialUrl, {
    protocols: [DIAL_SUBPROTOCOL],
    headers: { host: "evil.example.org:8735" },
  });
  const nonce = String((await client.next("challenge")).nonce);
  const text = dialProofText({
    nonce,
    agent: "mia",
    userEmail: "mia@example.org",
    host: "atlas",
    gateway: "evil.example.org:8735",
  });
  client.send({
    type: "register",
    user_email: "mia@example.org",
    agent: "mia",
    host: "atlas",
    key: key.publicKey,
    proof: await signProof(key, text),
  });
  assert.deepEqual(await client.closed, DENIED);
  assert.ok(
    running.host.log.lines.some(({ event }) => event.endsWith("reason=proof-for-another-gateway")),
  );
});

Deno.test({
  name: "no client registers while the key file is damaged",
  ...SAFE,
  fn: async () => {
    const host = memoryHost({ files: { "/r/etc/fleetctl/dial-keys.json": "{" } });
    await using running = await startTestGateway({ host });
    const client = await connectBare(running.dialUrl);
    client.send({ type: "register", user_email: "mia@example.org", agent: "mia" });
    assert.deepEqual(await client.closed, DENIED);
    assert.ok(host.log.lines.some(({ event }) => event.endsWith("reason=check-failed")));
  },
});

test("every agent needs a key when the host requires it", async (running) => {
  const client = await connectBare(running.dialUrl);
  client.send({ type: "register", user_email: "mia@example.org", agent: "mia" });
  assert.deepEqual(await client.closed, DENIED);
}, { env: { WEBVIEW_DIAL_REQUIRE_KEY: "true" } });

const facts: RegisterFacts = {
  frame: { type: "register", user_email: "", agent: "host:atlas", key: "k1" },
  ledger: new Map(),
  enrolledKeys: ["k1"],
  proof: "valid",
  isKeyRequired: false,
};
const hosts = [
  { name: "accepts an enrolled key", change: {}, want: "host:atlas" },
  { name: "never enrolls by itself", change: { enrolledKeys: [] }, want: "key-not-enrolled" },
  { name: "requires a proof", change: { proof: "absent" as const }, want: "proof-absent" },
  { name: "requires a valid proof", change: { proof: "invalid" as const }, want: "proof-invalid" },
  {
    name: "requires a host name",
    change: { frame: { ...facts.frame, agent: "host:10.0.0.7" } },
    want: "host-name-invalid",
  },
];
for (const { name, change, want } of hosts) {
  Deno.test(`decideRegister() of a host ${name}`, () => {
    const decision = decideRegister({ ...facts, ...change });
    assert.equal(decision.accept ? decision.agent : decision.reason, want);
  });
}

Deno.test("rejectedLine() lets no peer inject log lines", () => {
  const line = rejectedLine('mia"\n2026 register accepted', "x\u2028y\u0000", "identity-unknown");
  for (const mark of ["\n", "\u2028", "\u0000"]) assert.ok(!line.includes(mark));
  assert.ok(line.startsWith('register rejected agent="mia\\"\\n2026'));
});
