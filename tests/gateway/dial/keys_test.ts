/**
 * Dial keys at a real gateway: which keys are valid, how a revocation ends a session, and how a
 * first key reaches the ledger even if the first attempts fail.
 *
 * @module
 */

import assert from "node:assert/strict";
import { CLOSE } from "core/dial/frames.ts";
import { generateDialKey } from "core/dial/proof.ts";
import { refusal } from "core/errors.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { err, ok, type Result } from "core/result.ts";
import { type EnrollKey, startKeyForwarder } from "gateway/dial/key_forwarder.ts";
import type { AgentKey } from "gateway/dial/keys.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { connectBare, proveKey, startTestGateway } from "tests/support/gateway_fixture.ts";
import { settlesAtOnce } from "tests/support/turns.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;
const DENIED = { code: CLOSE.policyViolation, reason: "not authorized" };
const FILE = "/r/etc/fleetctl/dial-keys.json";

async function hostWith(keys: Readonly<Record<string, readonly string[]>>): Promise<MemoryHost> {
  const host = memoryHost();
  await host.files.ensureDir("/r/etc/fleetctl");
  await render(host, keys);
  return host;
}

/** Writes the key file, as the planner does. */
async function render(
  host: MemoryHost,
  keys: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  await host.files.write(FILE, JSON.stringify(keys));
}

Deno.test({
  name: "a key of the rendered file must be proven, and a revoked one is refused",
  ...SAFE,
  fn: async () => {
    const [old, fresh] = [(await generateDialKey()).key, (await generateDialKey()).key];
    const host = await hostWith({ mia: [old.publicKey] });
    await using running = await startTestGateway({ host });
    const client = await proveKey(running.dialUrl, old);
    await client.next("registered");
    await render(host, { mia: [fresh.publicKey] });
    const revoked = await proveKey(running.dialUrl, old);
    assert.deepEqual(await revoked.closed, DENIED);
    const next = await proveKey(running.dialUrl, fresh);
    await next.next("registered");
  },
});

Deno.test({
  name: "no client registers as an agent whose keys were all revoked",
  ...SAFE,
  fn: async () => {
    const { key } = await generateDialKey();
    const host = await hostWith({ mia: [] });
    await using running = await startTestGateway({ host });
    const proven = await proveKey(running.dialUrl, key);
    assert.deepEqual(await proven.closed, DENIED);
    const plain = await connectBare(running.dialUrl);
    plain.send({ type: "register", user_email: "mia@example.org", agent: "mia" });
    assert.deepEqual(await plain.closed, DENIED);
    const reasons = host.log.lines.map((line) => / reason=(\S+)$/.exec(line.event)?.[1]);
    assert.deepEqual(reasons.filter(Boolean), ["key-not-enrolled", "proof-absent"]);
    assert.equal(host.log.of("dial key enrolled").length, 0);
  },
});

Deno.test({
  name: "at the next check, a revoked key ends the session that it opened, and no other",
  ...SAFE,
  fn: async () => {
    const [key, bobs] = [(await generateDialKey()).key, (await generateDialKey()).key];
    const host = await hostWith({ mia: [key.publicKey], bob: [bobs.publicKey] });
    await using running = await startTestGateway({ host });
    const mia = await proveKey(running.dialUrl, key);
    const bob = await proveKey(running.dialUrl, bobs, {
      agent: "bob",
      userEmail: "bob@example.org",
    });
    await Promise.all([mia.next("registered"), bob.next("registered")]);
    await host.clock.advance(DIAL_LIMITS.keyFilePollMs);
    await render(host, { mia: [], bob: [bobs.publicKey] });
    // A registration in between also reads the file, and must not hide the change from the watch.
    const other = await proveKey(running.dialUrl, key);
    assert.deepEqual(await other.closed, DENIED);
    await host.clock.advance(DIAL_LIMITS.keyFilePollMs);
    assert.deepEqual(await mia.closed, DENIED);
    assert.deepEqual(host.log.of("dial key revoked").map(({ fields }) => fields?.agent), ["mia"]);
    bob.send({ type: "agents", id: "still-there" });
    await bob.next("agents_result");
  },
});

Deno.test({
  name: "a session without a key ends once its agent has one",
  ...SAFE,
  fn: async () => {
    const host = await hostWith({});
    await using running = await startTestGateway({ host });
    const plain = await connectBare(running.dialUrl);
    plain.send({ type: "register", user_email: "mia@example.org", agent: "mia" });
    await plain.next("registered");
    await host.clock.advance(DIAL_LIMITS.keyFilePollMs);
    plain.send({ type: "agents", id: "still-there" });
    await plain.next("agents_result");
    await render(host, { mia: [(await generateDialKey()).key.publicKey] });
    await host.clock.advance(DIAL_LIMITS.keyFilePollMs);
    assert.deepEqual(await plain.closed, DENIED);
    assert.equal(host.log.of("dial key required").length, 1);
  },
});

Deno.test({
  name: "connections stay while the key file is damaged, which is reported once",
  ...SAFE,
  fn: async () => {
    const { key } = await generateDialKey();
    const host = await hostWith({ mia: [key.publicKey] });
    await using running = await startTestGateway({ host });
    const mia = await proveKey(running.dialUrl, key);
    await mia.next("registered");
    await host.clock.advance(DIAL_LIMITS.keyFilePollMs);
    await host.files.write(FILE, "{");
    await host.clock.advance(DIAL_LIMITS.keyFilePollMs * 4);
    assert.equal(host.log.of("dial keys not read").length, 1);
    mia.send({ type: "agents", id: "still-there" });
    await mia.next("agents_result");
    await render(host, { mia: [] });
    await host.clock.advance(DIAL_LIMITS.keyFilePollMs);
    assert.deepEqual(await mia.closed, DENIED);
  },
});

/** Registers as mia on a raw connection, so that nothing answers a close frame. */
async function deafClient(url: string): Promise<Deno.TcpConn> {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const frame = JSON.stringify({ type: "register", user_email: "mia@example.org", agent: "mia" });
  const text = new TextEncoder().encode(frame);
  // One masked text frame (RFC 6455, 5.2) with an all-zero mask.
  const bytes = Uint8Array.of(0x81, 0x80 | text.length, 0, 0, 0, 0, ...text);
  const head = [
    "GET / HTTP/1.1",
    `Host: ${hostname}:${port}`,
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "\r\n",
  ].join("\r\n");
  await connection.write(new TextEncoder().encode(head));
  await connection.write(bytes);
  return connection;
}

Deno.test({
  name: "a peer that does not answer the end of its session is dropped",
  ...SAFE,
  fn: async () => {
    const host = await hostWith({});
    await using running = await startTestGateway({ host });
    const connection = await deafClient(running.dialUrl);
    await host.log.next('register accepted agent="mia" (user_email "mia@example.org")');
    await render(host, { mia: [] });
    await host.clock.advance(DIAL_LIMITS.keyFilePollMs);
    // Everyone else sees the agent disconnected at once, whatever the peer does.
    assert.deepEqual(host.log.of("agent disconnected").map(({ fields }) => fields?.agent), ["mia"]);
    await host.clock.advance(1_000);
    const buffer = new Uint8Array(4_096);
    const reading = (async () => {
      while (await connection.read(buffer).catch(() => null) !== null);
    })();
    // Without intervention, the WebSocket would keep an unresponsive peer for half a minute.
    assert.ok(await settlesAtOnce(reading));
    await reading;
    connection.close();
  },
});

/** A ledger that answers with these codes in turn ("" for success), and then always succeeds. */
function ledgerThat(...codes: readonly string[]) {
  const asked: AgentKey[] = [];
  let wake = () => {};
  const forwardKey: EnrollKey = {
    enroll: async (of): Promise<Result<void>> => {
      const code = codes[asked.length] ?? "";
      asked.push(of);
      wake();
      return code === "" ? ok(undefined) : err(refusal(code, "Cannot"));
    },
  };
  const askedTimes = async (count: number) => {
    while (asked.length < count) await new Promise<void>((resolve) => wake = resolve);
  };
  return { forwardKey, asked, askedTimes };
}

/** A forwarder on the test's clock, with one key that stays pending until the planner has it. */
function forwarding(ledger: ReturnType<typeof ledgerThat>) {
  const [clock, log] = [fakeClock(), recordingLog()];
  const waiting: AgentKey[] = [{ agent: "mia", key: "k" }];
  const pending = async () => waiting;
  const forwarder = startKeyForwarder({
    keys: { pending },
    forward: ledger.forwardKey,
    clock,
    log,
  });
  return { clock, log, waiting, forwarder };
}

Deno.test({
  name: "startKeyForwarder() adds a key to the ledger once the daemon runs",
  ...SAFE,
  fn: async () => {
    const ledger = ledgerThat("daemon-not-running", "daemon-not-running");
    const { clock, log, waiting, forwarder } = forwarding(ledger);
    await clock.advance(DIAL_LIMITS.keyForwardFirstMs - 1);
    assert.equal(ledger.asked.length, 1);
    await clock.advance(1);
    assert.equal(ledger.asked.length, 2);
    await clock.advance(2 * DIAL_LIMITS.keyForwardFirstMs);
    assert.deepEqual(ledger.asked, Array(3).fill({ agent: "mia", key: "k" }));
    assert.equal(log.of("dial key in the ledger").length, 1);
    // The next key wakes it at once. The first is not sent again while the planner has yet to store
    // it.
    waiting.push({ agent: "bob", key: "b" });
    forwarder.wake();
    await clock.advance(0);
    assert.deepEqual(ledger.asked.slice(3), [{ agent: "bob", key: "b" }]);
    assert.equal(clock.pending(), 0);
    await forwarder.close();
  },
});

const PACES = [
  { code: "daemon-not-running", between: [200, 300] },
  { code: "dial-key-not-taken", between: [10, 20] },
] as const;
for (const { code, between: [least, most] } of PACES) {
  Deno.test({
    name: `startKeyForwarder() retries ${least} to ${most} times in an hour of ${code}`,
    ...SAFE,
    fn: async () => {
      const ledger = ledgerThat(...Array(1_000).fill(code));
      const { clock, log, forwarder } = forwarding(ledger);
      await clock.advance(3_600_000);
      const count = ledger.asked.length;
      assert.ok(count > least && count < most, `asked ${count} times`);
      assert.equal(log.of("dial key not in the ledger yet").length, 1);
      await forwarder.close();
    },
  });
}

Deno.test({
  name: "a key that waits survives a restart, and is dropped when the ledger decides otherwise",
  ...SAFE,
  fn: async () => {
    const databases = memoryDatabases();
    const host = { ...await hostWith({}), databases };
    const { key } = await generateDialKey();
    {
      await using running = await startTestGateway({
        host,
        forwardKey: ledgerThat("daemon-not-running").forwardKey,
      });
      const client = await proveKey(running.dialUrl, key);
      await client.next("registered");
    }
    {
      const ledger = ledgerThat("daemon-not-running");
      await using running = await startTestGateway({ host, forwardKey: ledger.forwardKey });
      await ledger.askedTimes(1);
      const again = await proveKey(running.dialUrl, key);
      await again.next("registered");
      await host.clock.advance(DIAL_LIMITS.keyFilePollMs);
      await render(host, { mia: [] });
      await host.clock.advance(DIAL_LIMITS.keyFilePollMs);
      assert.deepEqual(await again.closed, DENIED);
      await host.clock.advance(DIAL_LIMITS.keyForwardFirstMs);
      assert.equal(ledger.asked.length, 1);
    }
    // The dropped key does not return: once the agent has no entry again, the next first proof
    // counts.
    const ledger = ledgerThat();
    await render(host, {});
    await using running = await startTestGateway({ host, forwardKey: ledger.forwardKey });
    const { key: fresh } = await generateDialKey();
    const next = await proveKey(running.dialUrl, fresh);
    await next.next("registered");
    await ledger.askedTimes(1);
    assert.deepEqual(ledger.asked, [{ agent: "mia", key: fresh.publicKey }]);
    databases.dispose();
  },
});

Deno.test({
  name: "of two simultaneous first proofs, only one is enrolled",
  ...SAFE,
  fn: async () => {
    const host = await hostWith({});
    await using running = await startTestGateway({ host });
    const keys = [(await generateDialKey()).key, (await generateDialKey()).key];
    const clients = await Promise.all(keys.map((key) => proveKey(running.dialUrl, key)));
    const outcomes = await Promise.all(
      clients.map((client) =>
        Promise.race([client.next("registered").then(() => "in"), client.closed.then(() => "out")])
      ),
    );
    assert.deepEqual(outcomes.sort(), ["in", "out"]);
    assert.equal(host.log.of("dial key enrolled").length, 1);
  },
});
