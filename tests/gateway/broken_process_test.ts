/**
 * Broken and partial requests and WebSocket garbage at both listeners of a gateway process. The
 * gateway survives, answers the next good request, leaves nothing open and logs no error. The
 * corpus is in `tests/vectors/`; its mutations are derived from a seed. Each listener gets 300
 * tries; FLEETCTL_ROUNDS and FLEETCTL_SEED override the defaults.
 *
 * @module
 */

import assert from "node:assert/strict";
import { registerBare } from "tests/support/gateway_fixture.ts";
import { type GatewayProcess, startGatewayProcess } from "tests/support/gateway_process.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "300");
const SEED = Number(Deno.env.get("FLEETCTL_SEED") ?? "20260306");
const AT_ONCE = 20;
/** Descriptors that may stay open: idle keep-alive connections of the good requests. */
const DESCRIPTORS_MORE_MAX = 8;
/** Far more than the 30 s limit of a request. */
const CLOSE_MS_MAX = 120_000;
const MEMORY_MORE_MAX = 128 * 1024 * 1024;

/** Returns a generator of numbers in [0, 1), derived from a seed (mulberry32). */
function chance(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

async function lines(name: string): Promise<readonly string[]> {
  const text = await Deno.readTextFile(new URL(`../vectors/${name}`, import.meta.url));
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

const REQUESTS = (await lines("broken_requests.txt")).map((line) =>
  // Each character is one byte, so that the corpus can contain invalid UTF-8.
  Uint8Array.from(String(JSON.parse(line)), (character) => character.charCodeAt(0) & 255)
);
const FRAMES = (await lines("broken_frames.txt")).map((line) =>
  Uint8Array.fromHex(line.replaceAll(" ", ""))
);
const UPGRADE = new TextEncoder().encode([
  "GET / HTTP/1.1",
  "Host: localhost",
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "",
  "",
].join("\r\n"));

/** Picks a corpus entry: unchanged, cut, with changed bytes, doubled, or replaced by noise. */
function broken(corpus: readonly Uint8Array[], next: () => number): Uint8Array {
  const pick = () => corpus[Math.floor(next() * corpus.length)] ?? new Uint8Array();
  const one = pick().slice();
  switch (Math.floor(next() * 5)) {
    case 0:
      return one.subarray(0, Math.floor(next() * (one.length + 1)));
    case 1:
      for (let count = Math.ceil(next() * 4); count > 0; count--) {
        if (one.length > 0) one[Math.floor(next() * one.length)] = Math.floor(next() * 256);
      }
      return one;
    case 2:
      return Uint8Array.from([...one, ...pick()]);
    case 3:
      return Uint8Array.from(
        { length: Math.floor(next() * 2_000) },
        () => Math.floor(next() * 256),
      );
    default:
      return one;
  }
}

/**
 * Sends bytes in two pieces and disconnects: at once if `cut` < 0.5, else after one read of the
 * answer.
 */
async function attack(
  at: string,
  of: { readonly first?: Uint8Array; readonly bytes: Uint8Array; readonly cut: number },
): Promise<void> {
  const { hostname, port } = new URL(at);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  try {
    const answer = new Uint8Array(4_096);
    if (of.first !== undefined) {
      await connection.write(of.first);
      await connection.read(answer);
    }
    const half = Math.floor(of.bytes.length * of.cut);
    for (const part of [of.bytes.subarray(0, half), of.bytes.subarray(half)]) {
      if (part.length > 0) await connection.write(part);
    }
    if (of.cut < 0.5) return;
    await connection.closeWrite();
    await connection.read(answer);
  } catch {
    // The gateway may close the connection first.
  } finally {
    connection.close();
  }
}

async function inBatches(count: number, act: (index: number) => Promise<void>): Promise<void> {
  for (let done = 0; done < count; done += AT_ONCE) {
    const batch = Math.min(AT_ONCE, count - done);
    await Promise.all(Array.from({ length: batch }, (_, at) => act(done + at)));
  }
}

/** Asserts that the gateway still serves a page and an agent. */
async function servesGoodOnes(gateway: GatewayProcess): Promise<void> {
  const health = await fetch(`${gateway.cockpit}/healthz`);
  assert.equal(await health.text(), "ok\n");
  const cards = await fetch(`${gateway.cockpit}/api/agents`, {
    headers: { "x-user-email": "mia@example.org" },
  });
  assert.match(await cards.text(), /"agent":"mia"/);
  const agent = await registerBare(gateway.dial, { epoch: crypto.randomUUID() });
  agent.connection.close(1000, "over");
  await agent.closed;
}

Deno.test({
  name: `the gateway lives through ${2 * ROUNDS} broken requests and frames, and serves the next`,
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const root = await Deno.makeTempDir({ prefix: "fc-" });
    const gateway = await startGatewayProcess(root);
    try {
      await servesGoodOnes(gateway);
      const before = { open: await gateway.descriptors(), memory: await gateway.memory() };
      const next = chance(SEED);
      for (const at of [gateway.cockpit, gateway.dial.replace("ws:", "http:")]) {
        // Every corpus entry unchanged first, then the mutations.
        await inBatches(
          REQUESTS.length,
          (index) => attack(at, { bytes: REQUESTS[index] ?? new Uint8Array(), cut: 0.7 }),
        );
        await inBatches(ROUNDS, () => attack(at, { bytes: broken(REQUESTS, next), cut: next() }));
        await servesGoodOnes(gateway);
      }
      const dial = gateway.dial.replace("ws:", "http:");
      await inBatches(
        FRAMES.length,
        (index) =>
          attack(dial, { first: UPGRADE, bytes: FRAMES[index] ?? new Uint8Array(), cut: 0.7 }),
      );
      await inBatches(
        ROUNDS,
        () => attack(dial, { first: UPGRADE, bytes: broken(FRAMES, next), cut: next() }),
      );
      await servesGoodOnes(gateway);
      assert.equal(gateway.hasEnded(), false);
      // Connections close at the latest when their time limit is over.
      const until = performance.now() + CLOSE_MS_MAX;
      while (await gateway.descriptors() > before.open + DESCRIPTORS_MORE_MAX) {
        assert.ok(performance.now() < until, `${await gateway.descriptors()} are open still`);
        await new Promise((go) => setTimeout(go, 50));
      }
      const more = await gateway.memory() - before.memory;
      assert.ok(more < MEMORY_MORE_MAX, `${Math.round(more / 1e6)} MB more`);
      const faults = gateway.log().split("\n").filter((line) => /"level":"error"/.test(line));
      assert.deepEqual(faults, [], `seed ${SEED}`);
    } finally {
      await gateway.kill();
      await Deno.remove(root, { recursive: true });
    }
  },
});
