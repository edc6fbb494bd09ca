/**
 * What a proxy's listener releases when its peer disconnects, even before the proxy has decided.
 * The upstream connection and the counters must not outlive the peer.
 *
 * @module
 */

import assert from "node:assert/strict";
import { systemProxying } from "login/http1/os/proxy_server.ts";
import type { ListenAddress, Listener } from "core/ports/sockets.ts";
import type { ProxyAnswer, ProxyHandlers } from "login/http1/proxy_port.ts";
import { HeaderList } from "core/http1/header_list.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";

const GET = "GET /events HTTP/1.1\r\nHost: a\r\n\r\n";
const UPGRADE =
  "GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

async function serve(handlers: Partial<ProxyHandlers>): Promise<Listener> {
  const proxying = systemProxying({ processes: fakeProcesses(), log: recordingLog() });
  return await proxying.serve({ hostname: "127.0.0.1", port: 0 }, {
    handle: () => Promise.reject(new Error("not asked for")),
    upgrade: () => Promise.reject(new Error("not asked for")),
    ...handlers,
  });
}

/** Sends a request and disconnects once `seen` resolves. */
async function askAndLeave(to: ListenAddress, text: string, seen: Promise<void>): Promise<void> {
  const peer = await Deno.connect(to);
  await peer.write(new TextEncoder().encode(text));
  await seen;
  peer.close();
}

/** Signals for a handler: it has seen the request, and its peer has left. */
function leaver() {
  const seen = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  return { seen, left };
}

Deno.test("onDisconnect() calls back at once when the peer has disconnected already", async () => {
  const { seen, left } = leaver();
  const notified = Promise.withResolvers<void>();
  const listener = await serve({
    handle: async (request) => {
      request.onDisconnect(left.resolve);
      seen.resolve();
      await left.promise;
      // Registers again, after the peer has closed.
      request.onDisconnect(notified.resolve);
      return new Response("late");
    },
  });
  await askAndLeave(listener.address, GET, seen.promise);
  await notified.promise;
  await listener.close();
});

Deno.test("an answer whose peer has disconnected is dropped, its body cancelled", async () => {
  const { seen, left } = leaver();
  const cancelled = Promise.withResolvers<void>();
  const listener = await serve({
    handle: async (request): Promise<ProxyAnswer> => {
      request.onDisconnect(left.resolve);
      seen.resolve();
      await left.promise;
      const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
        cancel: () => cancelled.resolve(),
      });
      return { status: 200, headers: HeaderList.ofRaw([]), body };
    },
  });
  await askAndLeave(listener.address, GET, seen.promise);
  await cancelled.promise;
  await listener.close();
});

Deno.test("an upgrade whose peer has left while it was decided closes its tunnel", async () => {
  const decided = Promise.withResolvers<void>();
  const seen = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const listener = await serve({
    handle: () => Promise.resolve(new Response("ok")),
    upgrade: async () => {
      seen.resolve();
      await decided.promise;
      return {
        accept: "tunnel",
        tunnel: {
          to: { hostname: "127.0.0.1", port: 9 },
          target: "/socket",
          headers: new Headers(),
          timeoutMs: 60_000,
          signal: new AbortController().signal,
          unreachable: (reason: string) => new Response(reason, { status: 502 }),
          onClose: closed.resolve,
        },
      };
    },
  });
  await askAndLeave(listener.address, UPGRADE, seen.promise);
  // The listener serves later clients after it has seen the close.
  const { hostname, port } = listener.address;
  for (let time = 0; time < 3; time++) {
    assert.equal(await (await fetch(`http://${hostname}:${port}/`)).text(), "ok");
  }
  decided.resolve();
  await closed.promise;
  await listener.close();
});
