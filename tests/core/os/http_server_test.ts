/**
 * The cost of a slow or silent peer to the plain HTTP listener.
 *
 * @module
 */

import assert from "node:assert/strict";
import { serveHttp } from "core/os/http_server.ts";
import { HTTP_LIMITS } from "core/limits/http.ts";
import type { HttpHandler, ServerTimes } from "core/os/node_server.ts";
import type { Listener } from "core/ports/sockets.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";
import { recordingLog } from "tests/fakes/log.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 5);
const BODY = new Uint8Array(2_000_000);
const TIMES: ServerTimes = { headersMsMax: 60, requestMsMax: 120, keepAliveMs: 60, checkMs: 20 };

function test(
  name: string,
  fn: (serve: (handler: HttpHandler) => Promise<Listener>) => Promise<void>,
) {
  Deno.test({
    name: `serveHttp() ${name}`,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: () =>
      fn((handler) =>
        serveHttp({ hostname: "127.0.0.1", port: 0 }, handler, {
          processes: fakeProcesses(),
          log: recordingLog(),
          times: TIMES,
        })
      ),
  });
}

/** Sends a text and returns all data until the server ends the connection. */
async function exchange(listener: Listener, text: string): Promise<string> {
  using peer = await Deno.connect(listener.address);
  await peer.write(new TextEncoder().encode(text));
  let got = "";
  const buffer = new Uint8Array(4_096);
  for (let n = await peer.read(buffer); n !== null; n = await peer.read(buffer)) {
    got += new TextDecoder().decode(buffer.subarray(0, n));
  }
  return got;
}

/** What handlers do with an unwanted body. */
const UNWANTED: readonly (readonly [string, (request: Request) => unknown])[] = [
  ["is not read", () => {}],
  ["is cancelled at once", (request) => request.body?.cancel()],
  ["is cancelled halfway", async (request) => {
    let bytes = 0;
    for await (const piece of request.body ?? []) if ((bytes += piece.length) > 500_000) break;
  }],
];
for (const [name, look] of UNWANTED) {
  Deno.test({
    name: `serveHttp() sends the sender of a body that ${name} the whole answer`,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      const answer = "y".repeat(3_000);
      const log = recordingLog();
      const listener = await serveHttp({ hostname: "127.0.0.1", port: 0 }, async (request) => {
        await look(request);
        return new Response(answer, { status: 413 });
      }, { processes: fakeProcesses(), log, times: HTTP_LIMITS });
      const { hostname, port } = listener.address;
      const send = async () => {
        // The peer writes everything before it reads, like the simplest clients.
        using peer = await Deno.connect(listener.address);
        const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${BODY.length}\r\n\r\n`;
        await peer.write(new TextEncoder().encode(head));
        for (let at = 0; at < BODY.length;) at += await peer.write(BODY.subarray(at));
        let got = "";
        const buffer = new Uint8Array(64 * 1024);
        while (!got.includes(answer)) {
          const read = await peer.read(buffer);
          assert.ok(read !== null, `closed after ${got.length} bytes`);
          got += new TextDecoder().decode(buffer.subarray(0, read));
        }
        assert.match(got, /^HTTP\/1\.1 413 /);
      };
      const post = async () => {
        const got = await fetch(`http://${hostname}:${port}/`, { method: "POST", body: BODY });
        assert.deepEqual([got.status, await got.text()], [413, answer]);
      };
      for (let round = 0; round < ROUNDS; round++) await Promise.all([send(), post(), send()]);
      await listener.close();
      assert.deepEqual(log.lines, []);
    },
  });
}

const slow = [
  { name: "says nothing", text: "", want: /408/ },
  { name: "stops within its headers", text: "GET / HTTP/1.1\r\nHost: a\r\n", want: /408/ },
  { name: "is done", text: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", want: /200 OK/ },
];
for (const { name, text, want } of slow) {
  test(`ends the connection of a peer that ${name}`, async (serve) => {
    const listener = await serve(() => new Response("hi"));
    assert.match(await exchange(listener, text), want);
    await listener.close();
  });
}

const targets = [
  { line: "GET /a?b=1 HTTP/1.1\r\nHost: here", want: "http://here/a?b=1 here" },
  { line: "GET http://there:1/a?b=1 HTTP/1.1\r\nHost: here", want: "http://there:1/a?b=1 there:1" },
  { line: "GET http://there?b=1 HTTP/1.1\r\nHost: here", want: "http://there/?b=1 there" },
  { line: "GET http://me@there/ HTTP/1.1\r\nHost: here", want: "400 Bad Request" },
  { line: "GET ftp://there/ HTTP/1.1\r\nHost: here", want: "400 Bad Request" },
  { line: "GET there HTTP/1.1\r\nHost: here", want: "400 Bad Request" },
  { line: "OPTIONS * HTTP/1.1\r\nHost: here", want: "400 Bad Request" },
];
for (const { line, want } of targets) {
  test(`reads the target of "${line.replace("\r\n", ", ")}"`, async (serve) => {
    const listener = await serve((request) =>
      new Response(`${request.url} ${request.headers.get("host")}`)
    );
    const got = await exchange(listener, `${line}\r\nConnection: close\r\n\r\n`);
    assert.ok(got.includes(want), got);
    await listener.close();
  });
}

test("answers a request that asks for an upgrade like any other", async (serve) => {
  const listener = await serve(() => new Response("plain"));
  const request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  assert.match(await exchange(listener, request), /200 OK[\s\S]*plain/);
  await listener.close();
});

test("allows an answer to take longer than a request", async (serve) => {
  let ticks = 0;
  const listener = await serve(() =>
    new Response(
      new ReadableStream({
        pull: async (controller) => {
          await new Promise((resolve) => setTimeout(resolve, TIMES.requestMsMax));
          controller.enqueue(new TextEncoder().encode(`${++ticks} `));
          if (ticks === 3) controller.close();
        },
      }),
    )
  );
  const { hostname, port } = listener.address;
  assert.equal(await (await fetch(`http://${hostname}:${port}/`)).text(), "1 2 3 ");
  await listener.close();
});

test("pulls no more of an answer than its peer reads", async (serve) => {
  const CHUNK = new Uint8Array(64 * 1024);
  const cancelled = Promise.withResolvers<void>();
  let pulled = 0;
  let onPull = () => {};
  const listener = await serve(() =>
    new Response(
      new ReadableStream({
        pull: (controller) => {
          pulled += CHUNK.length;
          controller.enqueue(CHUNK);
          onPull();
        },
        cancel: () => cancelled.resolve(),
      }),
    )
  );
  const peer = await Deno.connect(listener.address);
  await peer.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  await quiet((again) => onPull = again);
  assert.ok(pulled > 0 && pulled < 32 * 1024 * 1024, `${pulled} bytes`);
  peer.close();
  await cancelled.promise;
  await listener.close();
});

/** Resolves once nothing has been pulled for a while. */
function quiet(onPull: (again: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    let timer = setTimeout(resolve, 500);
    onPull(() => {
      clearTimeout(timer);
      timer = setTimeout(resolve, 100);
    });
  });
}
