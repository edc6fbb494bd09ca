/**
 * What `Sockets` promises about HTTP, against the real adapter on loopback: answers, errors,
 * streams, and addresses in use. There is no fake: tests use the real sockets, so this suite is
 * their foundation.
 *
 * @module
 */

import assert from "node:assert/strict";
import { AddressFault } from "core/ports/sockets.ts";
import { LOOPBACK, NOT_FOUND, socketsTest, urlOf } from "tests/contract/sockets_scene.ts";

socketsTest("serveHttp answers with the address of the peer", async (sockets) => {
  const listener = await sockets.serveHttp(LOOPBACK, async (request, peer) => {
    const text = await request.text();
    return Response.json({ peer, text, path: new URL(request.url).pathname });
  });
  assert.ok(listener.address.port > 0);
  const response = await fetch(urlOf(listener, "http", "/a?b"), { method: "POST", body: "hello" });
  const answer = await response.json();
  assert.match(answer.peer, /^127\.0\.0\.1:\d+$/);
  assert.deepEqual([answer.text, answer.path], ["hello", "/a"]);
  await listener.close();
  await listener.close();
});

socketsTest(
  "serveHttp turns a handler's error into an empty 500 and a log line",
  async (sockets, log) => {
    const listener = await sockets.serveHttp(LOOPBACK, () => {
      throw new Error("secret detail");
    });
    const response = await fetch(urlOf(listener, "http"));
    assert.deepEqual([response.status, await response.text()], [500, ""]);
    assert.equal(log.of("http_handler_failed").length, 1);
    await listener.close();
  },
);

socketsTest(
  "servePlain passes on the received bytes, and sends the handler's answer",
  async (sockets, log) => {
    const listener = await sockets.servePlain(
      LOOPBACK,
      async ({ method, path, peer, ...request }) => {
        if (path === "/broken") throw new Error("secret detail");
        const body = await request.body(8);
        const text = body === "too-long" ? body : new TextDecoder().decode(body);
        const received = [method, path, text, request.headers.get("X-A")];
        return { status: 201, headers: [["x-peer", peer]], body: JSON.stringify(received) };
      },
    );
    const ask = (path: string, body: string) =>
      fetch(urlOf(listener, "http", path), { method: "POST", body, headers: { "x-a": "1" } });
    const response = await ask("/a?b", "hello");
    assert.equal(response.status, 201);
    assert.match(response.headers.get("x-peer") ?? "", /^127\.0\.0\.1:\d+$/);
    assert.deepEqual(await response.json(), ["POST", "/a", "hello", "1"]);
    assert.deepEqual(await (await ask("/", "x".repeat(9))).json(), ["POST", "/", "too-long", "1"]);
    const broken = await ask("/broken", "");
    assert.deepEqual([broken.status, await broken.text()], [500, ""]);
    assert.equal(log.of("http_handler_failed").length, 1);
    await listener.close();
    await listener.close();
  },
);

socketsTest("serveHttp close ends open streams after the grace period", async (sockets) => {
  const cancelled = Promise.withResolvers<void>();
  const listener = await sockets.serveHttp(LOOPBACK, () =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
        cancel: () => cancelled.resolve(),
      }),
    ));
  const response = await fetch(urlOf(listener, "http"));
  const reader = response.body?.getReader();
  await reader?.read();
  await listener.close(10);
  await cancelled.promise;
  await reader?.read().catch(() => {});
});

for (const kind of ["serveHttp", "servePlain", "serveFrames"] as const) {
  socketsTest(`${kind} rejects with AddressFault and names who holds the port`, async (sockets) => {
    const serve = (at: { hostname: string; port: number }) =>
      kind === "serveHttp"
        ? sockets.serveHttp(at, NOT_FOUND)
        : kind === "servePlain"
        ? sockets.servePlain(at, () => Promise.resolve({ status: 404, headers: [], body: null }))
        : sockets.serveFrames(at, {
          frameBytesMax: 1_024,
          handler: NOT_FOUND,
          upgrade: () => ({ accept: false, response: NOT_FOUND() }),
        });
    const first = await serve(LOOPBACK);
    const fault = await serve(first.address).catch((thrown) => thrown);
    assert.ok(fault instanceof AddressFault);
    assert.equal(fault.reason, "in-use");
    assert.equal(fault.holder, `deno (pid ${Deno.pid})`);
    assert.equal(
      fault.message,
      `Cannot listen on 127.0.0.1:${first.address.port}: the port is taken by ${fault.holder}`,
    );
    await first.close();

    const elsewhere = await serve({ hostname: "203.0.113.7", port: 0 }).catch((thrown) => thrown);
    assert.ok(elsewhere instanceof AddressFault);
    assert.equal(elsewhere.reason, "not-available");
  });
}

socketsTest("serveFrames answers plain HTTP, streams and errors included", async (sockets, log) => {
  const listener = await sockets.serveFrames(LOOPBACK, {
    frameBytesMax: 1_024,
    upgrade: () => ({ accept: false, response: NOT_FOUND() }),
    handler: async (request, peer) => {
      if (request.url.endsWith("/throw")) throw new Error("no");
      if (request.url.endsWith("/empty")) return new Response(null, { status: 204 });
      const headers = new Headers({ "x-peer": peer, "content-type": "text/plain" });
      headers.append("set-cookie", "a=1");
      headers.append("set-cookie", "b=2");
      return new Response(`${request.method} ${await request.text()}`, { status: 201, headers });
    },
  });
  const body = "x".repeat(300_000);
  const response = await fetch(urlOf(listener, "http", "/a"), { method: "POST", body });
  assert.equal(response.status, 201);
  assert.match(response.headers.get("x-peer") ?? "", /^127\.0\.0\.1:\d+$/);
  assert.deepEqual(response.headers.getSetCookie(), ["a=1", "b=2"]);
  assert.equal(await response.text(), `POST ${body}`);
  const empty = await fetch(urlOf(listener, "http", "/empty"));
  assert.deepEqual([empty.status, await empty.text()], [204, ""]);
  const broken = await fetch(urlOf(listener, "http", "/throw"));
  assert.deepEqual([broken.status, await broken.text()], [500, ""]);
  assert.equal(log.of("http_handler_failed").length, 1);
  await listener.close();
});

socketsTest(
  "serveFrames notifies a streaming handler that its reader has disconnected",
  async (sockets) => {
    const cancelled = Promise.withResolvers<void>();
    const listener = await sockets.serveFrames(LOOPBACK, {
      frameBytesMax: 1_024,
      upgrade: () => ({ accept: false, response: NOT_FOUND() }),
      handler: () =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
            cancel: () => cancelled.resolve(),
          }),
        ),
    });
    const abort = new AbortController();
    const response = await fetch(urlOf(listener, "http"), { signal: abort.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    abort.abort();
    await cancelled.promise;
    await reader?.read().catch(() => {});
    await listener.close();
  },
);
