/**
 * What `Sockets` promises about WebSockets, against the real adapter on loopback: upgrades, frames
 * and their limits, keep-alive, closing. There is no fake: tests use the real sockets, so this
 * suite is their foundation.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { FrameConnection, Listener, Sockets } from "core/ports/sockets.ts";
import { LOOPBACK, NOT_FOUND, socketsTest, urlOf } from "tests/contract/sockets_scene.ts";

interface Pair {
  readonly server: FrameConnection;
  readonly client: FrameConnection;
  readonly listener: Listener;
}

/** Connects a client to a new listener. The server side limits the frame size. */
async function connectPair(
  sockets: Sockets,
  limits: { readonly server?: number; readonly client?: number } = {},
): Promise<Pair> {
  const accepted = Promise.withResolvers<FrameConnection>();
  const listener = await sockets.serveFrames(LOOPBACK, {
    frameBytesMax: limits.server ?? 65_536,
    handler: NOT_FOUND,
    upgrade: () => ({ accept: true, onOpen: accepted.resolve }),
  });
  const client = await sockets.connectFrames(urlOf(listener, "ws"), {
    frameBytesMax: limits.client ?? 65_536,
    timeoutMs: 5_000,
  });
  return { server: await accepted.promise, client, listener };
}

/**
 * Requests a WebSocket over plain TCP, so that the test controls when the peer reads and what it
 * writes.
 */
async function upgradeBare(listener: Listener): Promise<Deno.Conn> {
  const { hostname, port } = listener.address;
  const peer = await Deno.connect({ hostname, port });
  await peer.write(new TextEncoder().encode(
    "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
  ));
  return peer;
}

function closeOf(connection: FrameConnection): Promise<readonly [code: number, reason: string]> {
  return new Promise((resolve) => connection.onClose((code, reason) => resolve([code, reason])));
}

function nextMessage(connection: FrameConnection): Promise<string> {
  return new Promise((resolve) => connection.onMessage(resolve));
}

socketsTest(
  "serveFrames refuses an upgrade with the answer that its caller chose",
  async (sockets) => {
    const listener = await sockets.serveFrames(LOOPBACK, {
      frameBytesMax: 1_024,
      handler: NOT_FOUND,
      upgrade: (request) =>
        request.headers.get("x-pass") === "yes"
          ? { accept: true, onOpen: (connection) => connection.close(1000, "") }
          : { accept: false, response: new Response("go away", { status: 403 }) },
    });
    const options = { frameBytesMax: 1_024, timeoutMs: 5_000 };
    const url = urlOf(listener, "ws", "/register");
    await assert.rejects(sockets.connectFrames(url, options), /Cannot connect to .*403/);
    const allowed = await sockets.connectFrames(url, { ...options, headers: { "x-pass": "yes" } });
    assert.deepEqual(await closeOf(allowed), [1000, ""]);
    await listener.close();
  },
);

socketsTest("serveFrames agrees on the subprotocol that its caller chose", async (sockets) => {
  const accepted = Promise.withResolvers<FrameConnection>();
  const listener = await sockets.serveFrames(LOOPBACK, {
    frameBytesMax: 1_024,
    handler: NOT_FOUND,
    upgrade: (request) => {
      const offered = request.headers.get("sec-websocket-protocol") ?? "";
      return offered.includes("fleetctl.dial.1")
        ? { accept: true, protocol: "fleetctl.dial.1", onOpen: accepted.resolve }
        : { accept: true, onOpen: accepted.resolve };
    },
  });
  const client = await sockets.connectFrames(urlOf(listener, "ws"), {
    frameBytesMax: 1_024,
    timeoutMs: 5_000,
    protocols: ["other", "fleetctl.dial.1"],
  });
  const server = await accepted.promise;
  assert.deepEqual([client.protocol, server.protocol], ["fleetctl.dial.1", "fleetctl.dial.1"]);
  assert.match(server.peer, /^127\.0\.0\.1:\d+$/);
  const closed = closeOf(client);
  server.close(1008, "not authorized");
  assert.deepEqual(await closed, [1008, "not authorized"]);
  await listener.close();
});

socketsTest("frames arrive complete and in order, in both directions", async (sockets) => {
  const { server, client, listener } = await connectPair(sockets);
  const got: string[] = [];
  const all = Promise.withResolvers<void>();
  server.onMessage((text) => {
    got.push(text);
    if (got.length === 3) all.resolve();
  });
  const sent = ["", "grüße 🦕", "x".repeat(60_000)];
  for (const text of sent) client.send(text);
  await all.promise;
  assert.deepEqual(got, sent);
  const answer = nextMessage(client);
  server.send("back");
  assert.equal(await answer, "back");
  await listener.close(0);
});

socketsTest("frames that came before their handler are kept for it", async (sockets) => {
  const listener = await sockets.serveFrames(LOOPBACK, {
    frameBytesMax: 1_024,
    handler: NOT_FOUND,
    upgrade: () => ({
      accept: true,
      onOpen: (connection) => {
        for (const text of ["one", "two", "three"]) connection.send(text);
        connection.close(1000, "done");
      },
    }),
  });
  const client = await sockets.connectFrames(urlOf(listener, "ws"), {
    frameBytesMax: 1_024,
    timeoutMs: 5_000,
  });
  // Does other work first, so that all frames have arrived long before anyone reads them.
  await (await fetch(urlOf(listener, "http"))).text();
  const got: string[] = [];
  client.onMessage((text) => got.push(text));
  assert.deepEqual(await closeOf(client), [1000, "done"]);
  assert.deepEqual(got, ["one", "two", "three"]);
  await listener.close();
});

socketsTest("a frame that is too big closes with 1009 and is not delivered", async (sockets) => {
  const { server, client, listener } = await connectPair(sockets, { server: 1_000 });
  const got: string[] = [];
  server.onMessage((text) => got.push(text));
  const closed = Promise.all([closeOf(client), closeOf(server)]);
  client.send("x".repeat(1_000));
  client.send("x".repeat(1_001));
  assert.deepEqual((await closed).map(([code]) => code), [1009, 1009]);
  assert.deepEqual(got.map((text) => text.length), [1_000]);
  await listener.close();
});

socketsTest(
  "setFrameBytesMax raises and lowers the bound of an open connection",
  async (sockets) => {
    const { server, client, listener } = await connectPair(sockets, { server: 100 });
    server.setFrameBytesMax(5_000);
    const first = nextMessage(server);
    client.send("x".repeat(5_000));
    assert.equal((await first).length, 5_000);
    server.setFrameBytesMax(10);
    const closed = closeOf(client);
    client.send("x".repeat(11));
    assert.equal((await closed)[0], 1009);
    assert.throws(() => server.setFrameBytesMax(0), RangeError);
    await listener.close();
  },
);

socketsTest("a client bounds what its server sends", async (sockets) => {
  const { server, client, listener } = await connectPair(sockets, { client: 1_000 });
  const closed = closeOf(server);
  client.onMessage(() => assert.fail("delivered"));
  server.send("x".repeat(1_001));
  assert.equal((await closed)[0], 1009);
  await listener.close();
});

socketsTest(
  "bufferedBytes grows while the peer does not read, and drains when it does",
  async (sockets) => {
    const accepted = Promise.withResolvers<FrameConnection>();
    const listener = await sockets.serveFrames(LOOPBACK, {
      frameBytesMax: 1_024,
      handler: NOT_FOUND,
      upgrade: () => ({ accept: true, onOpen: accepted.resolve }),
    });
    const peer = await upgradeBare(listener);
    const server = await accepted.promise;
    assert.equal(server.bufferedBytes(), 0);
    const frame = "x".repeat(1_000_000);
    let sent = 0;
    while (server.bufferedBytes() < 2_000_000 && sent < 64) {
      server.send(frame);
      sent++;
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    assert.ok(
      server.bufferedBytes() >= 2_000_000,
      `${server.bufferedBytes()} after ${sent} frames`,
    );
    const buffer = new Uint8Array(1_000_000);
    for (let bytes = 0; bytes < sent * frame.length;) bytes += await peer.read(buffer) ?? Infinity;
    while (server.bufferedBytes() > 0) await new Promise((resolve) => setTimeout(resolve, 0));
    const closed = closeOf(server);
    peer.close();
    assert.equal((await closed)[0], 1006);
    await listener.close();
  },
);

socketsTest("a connection that is dropped closes with 1006 on both sides", async (sockets) => {
  const { server, client, listener } = await connectPair(sockets);
  const closed = Promise.all([closeOf(server), closeOf(client)]);
  client.terminate();
  assert.deepEqual((await closed).map(([code]) => code), [1006, 1006]);
  client.send("into the void");
  server.send("into the void");
  client.ping();
  server.terminate();
  await listener.close();
});

socketsTest("ping, pong and frames are signs of life", async (sockets) => {
  const { server, client, listener } = await connectPair(sockets);
  for (const [one, other] of [[client, server], [server, client]] as const) {
    const pinged = new Promise<void>((resolve) => other.onAlive(resolve));
    const ponged = new Promise<void>((resolve) => one.onAlive(resolve));
    one.ping();
    await Promise.all([pinged, ponged]);
  }
  const alive = new Promise<void>((resolve) => server.onAlive(resolve));
  const message = nextMessage(server);
  client.send("frame");
  await Promise.all([alive, message]);
  await listener.close(0);
});

socketsTest("close cuts a reason that is too long at a character", async (sockets) => {
  const { server, client, listener } = await connectPair(sockets);
  const closed = closeOf(client);
  server.close(1008, "ü".repeat(100));
  assert.deepEqual(await closed, [1008, "ü".repeat(61)]);
  await listener.close();
});

socketsTest("closing the listener closes each connection with 1001", async (sockets) => {
  const { client, listener } = await connectPair(sockets);
  const closed = closeOf(client);
  await listener.close();
  assert.deepEqual(await closed, [1001, "shutting down"]);
});

socketsTest(
  "connectFrames rejects without a listener, and without an answer",
  async (sockets) => {
    const silent = Deno.listen(LOOPBACK);
    const { port } = silent.addr as Deno.NetAddr;
    const options = { frameBytesMax: 1_024, timeoutMs: 50 };
    const accepted = silent.accept();
    await assert.rejects(
      sockets.connectFrames(`ws://127.0.0.1:${port}/`, options),
      /Cannot connect/,
    );
    (await accepted).close();
    silent.close();
    await assert.rejects(
      sockets.connectFrames(`ws://127.0.0.1:${port}/`, options),
      /Cannot connect/,
    );
    await assert.rejects(sockets.connectFrames("nonsense", options));
  },
);

socketsTest(
  "serveFrames closes on binary frames and on text that is not UTF-8",
  async (sockets) => {
    const { listener } = await connectPair(sockets);
    const rows = [
      { bytes: [0x82, 0x81, 0, 0, 0, 0, 1], code: 1003 },
      { bytes: [0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28], code: 1007 },
    ];
    for (const { bytes, code } of rows) {
      const peer = await upgradeBare(listener);
      await peer.write(Uint8Array.from(bytes));
      const seen: number[] = [];
      const buffer = new Uint8Array(1_024);
      for (let count = await peer.read(buffer); count !== null; count = await peer.read(buffer)) {
        seen.push(...buffer.subarray(0, count));
        if (seen.includes(0x88)) break;
      }
      const close = seen.indexOf(0x88);
      assert.equal(((seen[close + 2] ?? 0) << 8) | (seen[close + 3] ?? 0), code);
      peer.close();
    }
    await listener.close(0);
  },
);
