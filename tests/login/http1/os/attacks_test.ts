/**
 * Requests by which one peer could affect another peer's request or a later one: bodies that are
 * read while they are answered, hosts that change the path, tunnels that end. Byte by byte, on both
 * sides.
 *
 * @module
 */

import assert from "node:assert/strict";
import { AbortHandle } from "login/abort_handle.ts";
import { createChunkDecoder } from "core/http1/chunked.ts";
import { parseRequestHead } from "core/http1/request_head.ts";
import { HTTP_LIMITS } from "core/limits/http.ts";
import type { Answer } from "core/http1/os/answer.ts";
import { type Http1Handlers, serveHttp1 } from "core/http1/os/server.ts";
import { refuseUpgrade, runTunnel } from "login/http1/os/tunnel.ts";
import { systemProxying } from "login/http1/os/proxy_server.ts";
import { openUpstream } from "login/http1/os/upstream.ts";
import type { Listener } from "core/ports/sockets.ts";
import { WIRE_LIMITS } from "core/http1/wire_limits.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";
import { bytesOf, END_MS_MAX, receiveText, sendText } from "tests/support/wire.ts";

const LOOPBACK = { hostname: "127.0.0.1", port: 0 };
const NOTHING: Answer = { status: 204, headers: [], body: null };

function serve(handlers: Partial<Http1Handlers>): Promise<Listener> {
  return serveHttp1(LOOPBACK, {
    answer: () => Promise.resolve(NOTHING),
    upgrade: () => Promise.resolve(),
    ...handlers,
  }, { processes: fakeProcesses(), log: recordingLog(), times: HTTP_LIMITS });
}

/** Waits for `coming`, and rejects instead of hanging if it takes too long. */
async function soon<Value>(coming: Promise<Value>, what: string): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${what} never came`)), END_MS_MAX);
  try {
    return await Promise.race([coming, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

Deno.test("a body that is read during its answer arrives complete or fails", async () => {
  const first = Promise.withResolvers<void>();
  const here = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const connected = Promise.withResolvers<void>();
  const received = Promise.withResolvers<string>();
  const listener = await serve({
    answer: async ({ head, body }) => {
      if (head.target === "/first") {
        await first.promise;
        return NOTHING;
      }
      assert.ok(body !== null);
      const reader = body.getReader();
      let text = "";
      const take = async () => {
        const { done, value } = await reader.read();
        text += new TextDecoder().decode(value);
        return !done;
      };
      await take();
      here.resolve();
      await answered.promise;
      (async () => {
        await connected.promise;
        while (await take());
        received.resolve(text);
      })().catch((thrown) => received.resolve(`${text}, then ${thrown}`));
      return { status: 200, headers: [], body: bytesOf("early") };
    },
  });
  const peer = await Deno.connect(listener.address);
  try {
    // The first request is still in progress, so the listener reads the second one ahead.
    const head = "POST /second HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n";
    await sendText(peer, `GET /first HTTP/1.1\r\nHost: a\r\n\r\n${head}abc`);
    first.resolve();
    await soon(here.promise, "the first piece");
    await sendText(peer, "defghi");
    // Several turns of the loop, so that the bytes have been read ahead.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve));
    answered.resolve();
    await receiveText(peer, (text) => text.endsWith("early"));
    connected.resolve();
    const text = await soon(received.promise, "the end of the body");
    assert.match(text, /^(?:abcdefghi|abc, then .*)$/);
  } finally {
    peer.close();
    await listener.close(0);
  }
});

Deno.test("a client that disconnects is noticed even if its body is not read", async () => {
  const answering = Promise.withResolvers<void>();
  const cancelled = Promise.withResolvers<void>();
  const listener = await serve({
    answer: () => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(bytesOf("silence follows")),
        cancel: () => cancelled.resolve(),
      });
      answering.resolve();
      return Promise.resolve({ status: 200, headers: [], body });
    },
  });
  const peer = await Deno.connect(listener.address);
  try {
    await sendText(peer, "GET /events HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    await receiveText(peer, (text) => text.includes("silence follows"));
    peer.close();
    await soon(cancelled.promise, "the end of the answer");
  } finally {
    await listener.close(0);
  }
});

for (
  const hosts of ["a\r\nHost: a", "a, b", "", "a/icons/x?", "a\\b", "u@a", "a#b", "a b", "\xe9"]
) {
  Deno.test(`the host ${JSON.stringify(hosts)} is refused`, () => {
    const parsed = parseRequestHead(`GET / HTTP/1.1\r\nHost: ${hosts}`);
    assert.deepEqual(parsed, { ok: false, error: 400 });
  });
}

Deno.test("an invalid host in an absolute target is refused, and moves no path", async () => {
  const seen: string[] = [];
  const proxying = systemProxying({ processes: fakeProcesses(), log: recordingLog() });
  const listener = await proxying.serve(LOOPBACK, {
    handle: (request) => {
      seen.push(request.url.pathname);
      return Promise.resolve(new Response());
    },
    upgrade: () => Promise.reject(new Error("not asked for")),
  });
  try {
    for (const target of ["http://a\\icons/api", "http://a,b/api", "http://[/api", "a:1", "*"]) {
      const peer = await Deno.connect(listener.address);
      await sendText(peer, `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      assert.match(await receiveText(peer), /^HTTP\/1\.1 400 /, target);
      peer.close();
    }
    assert.deepEqual(seen, []);
  } finally {
    await listener.close(0);
  }
});

Deno.test("an upgrade in HTTP/1.0 is ignored (RFC 9110, 7.8)", () => {
  const parsed = parseRequestHead(
    "GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket",
  );
  assert.ok(parsed.ok && !parsed.value.isUpgrade);
});

Deno.test("an upgrade without a protocol is ignored (RFC 9110, 7.8)", () => {
  for (const nothing of ["Upgrade:", "Upgrade: \r\nUpgrade: ", "Upgrade: , ,"]) {
    const head = `GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n${nothing}`;
    const parsed = parseRequestHead(head);
    assert.ok(parsed.ok && !parsed.value.isUpgrade, head);
  }
});

Deno.test("extensions of chunks are bounded for the whole body", () => {
  const decoder = createChunkDecoder();
  const chunk = bytesOf(`1;${"x".repeat(1_000)}\r\na\r\n`);
  assert.throws(() => {
    for (let count = 0; count < 100; count++) decoder.take(chunk);
  }, SyntaxError);
});

Deno.test("a body that differs from its stated length closes its upstream connection", async () => {
  const server = Deno.listen(LOOPBACK);
  const { port } = server.addr as Deno.NetAddr;
  const upstream = openUpstream({ ...LOOPBACK, port });
  try {
    for (const sent of ["abc", "abcdefgh"]) {
      const abortHandle = new AbortHandle();
      const late = setTimeout(() => abortHandle.abort("late"), END_MS_MAX);
      const sending = upstream.send({
        method: "POST",
        target: "/",
        headers: [],
        bodyBytes: 5,
        abortHandle,
        onEnd: () => {},
        body: new Blob([sent]).stream(),
      }).then(() => "answered", () => abortHandle.reason ?? "failed");
      const connection = await server.accept();
      const text = await receiveText(connection);
      connection.close();
      assert.equal(await sending, "failed");
      clearTimeout(late);
      assert.match(text, /\r\n\r\n(?:abc)?$/);
    }
  } finally {
    upstream.close();
    server.close();
  }
});

Deno.test("bytes that were sent through a tunnel before its end arrive", async () => {
  const server = Deno.listen(LOOPBACK);
  const { port } = server.addr as Deno.NetAddr;
  const over = Promise.withResolvers<void>();
  const listener = await serve({
    upgrade: (_request, wire) =>
      runTunnel({
        to: { ...LOOPBACK, port },
        target: "/",
        headers: new Headers(),
        timeoutMs: END_MS_MAX,
        signal: new AbortController().signal,
        unreachable: () => new Response(null, { status: 502 }),
        onClose: over.resolve,
      }, wire),
  });
  const peer = await Deno.connect(listener.address);
  const sent = "z".repeat(3_000_000);
  try {
    await sendText(
      peer,
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    const behind = await server.accept();
    await receiveText(behind, (text) => text.endsWith("\r\n\r\n"));
    await sendText(behind, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n");
    await receiveText(peer, (text) => text.endsWith("\r\n\r\n"));
    const connected = receiveText(behind);
    await sendText(peer, sent);
    await peer.closeWrite();
    assert.equal((await connected).length, sent.length);
    await soon(over.promise, "the end of the tunnel");
    behind.close();
  } finally {
    peer.close();
    server.close();
    await listener.close(0);
  }
});

Deno.test("a client that has sent too much still reads the refusal of its upgrade", async () => {
  const refusal: Answer = { status: 403, headers: [], body: bytesOf("n".repeat(3_000)) };
  const listener = await serve({ upgrade: (_request, wire) => refuseUpgrade(wire, refusal) });
  const head = "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
  try {
    for (let round = 0; round < 3; round++) {
      const peer = await Deno.connect(listener.address);
      // The client sends far more than is read ahead, before it reads any of the answer.
      await sendText(peer, head + "z".repeat(4_000_000));
      const answer = await receiveText(peer);
      peer.close();
      assert.match(answer, /^HTTP\/1\.1 403 [^]*n{3000}$/);
    }
  } finally {
    await listener.close(0);
  }
});

/** A stream of these pieces, which then closes or fails. */
function streamOf(pieces: readonly string[], isWhole: boolean): ReadableStream<Uint8Array> {
  const left = [...pieces];
  return new ReadableStream({
    pull: (controller) => {
      const piece = left.shift();
      if (piece !== undefined) controller.enqueue(bytesOf(piece));
      else if (isWhole) controller.close();
      else controller.error(new Error("it broke off"));
    },
  }, { highWaterMark: 0 });
}

const LONG = "l".repeat(WIRE_LIMITS.gatheredBytesMax + 1);
const ANSWERS: Readonly<Record<string, Answer>> = {
  "/whole": { status: 200, headers: [], body: streamOf(["abc", "def"], true) },
  "/broken": { status: 200, headers: [], body: streamOf(["abc", "def"], false) },
  "/long": { status: 200, headers: [], body: streamOf([LONG, "the rest"], true) },
};

Deno.test("HTTP/1.0: a truncated answer never looks complete", async () => {
  const listener = await serve({
    answer: ({ head }) => Promise.resolve(ANSWERS[head.target] ?? NOTHING),
  });
  const asked = async (target: string) => {
    const peer = await Deno.connect(listener.address);
    await sendText(peer, `GET ${target} HTTP/1.0\r\n\r\n`);
    const answer = await receiveText(peer);
    peer.close();
    return answer;
  };
  try {
    assert.match(await asked("/whole"), /^HTTP\/1\.1 200 [^]*content-length: 6\r\n[^]*abcdef$/);
    const broken = await asked("/broken");
    assert.match(broken, /^HTTP\/1\.1 502 [^]*content-length: 0\r\n/);
    assert.ok(broken.endsWith("\r\n\r\n"), "nothing of the broken answer is passed on");
    assert.ok((await asked("/long")).endsWith(`\r\n\r\n${LONG}the rest`));
  } finally {
    await listener.close(0);
  }
});

Deno.test("HTTP/1.0: an event stream is passed at once, and ends with its client", async () => {
  const cancelled = Promise.withResolvers<void>();
  const open = (type: string): Answer => ({
    status: 200,
    headers: [["content-type", type]],
    body: new ReadableStream({
      start: (controller) => controller.enqueue(bytesOf("data: first\n\n")),
      cancel: () => type.startsWith("text/plain") ? cancelled.resolve() : undefined,
    }),
  });
  const listener = await serve({
    answer: ({ head }) =>
      Promise.resolve(open(head.target === "/events" ? "text/event-stream" : "text/plain")),
  });
  try {
    const peer = await Deno.connect(listener.address);
    await sendText(peer, "GET /events HTTP/1.0\r\n\r\n");
    await soon(receiveText(peer, (text) => text.includes("data: first")), "the first event");
    peer.close();
    const other = await Deno.connect(listener.address);
    await sendText(other, "GET /plain HTTP/1.0\r\n\r\n");
    other.close();
    await soon(cancelled.promise, "the end of the body");
  } finally {
    await listener.close(0);
  }
});
