/**
 * The pass-through client against servers that are scripted byte by byte. It forwards exactly what
 * was sent, reuses kept connections, and fails on a bad answer instead of passing on half of it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { AbortHandle } from "login/abort_handle.ts";
import { openUpstream } from "login/http1/os/upstream.ts";
import { UpstreamFault } from "core/http1/upstream_fault.ts";
import type { Upstream, UpstreamAnswer } from "login/http1/proxy_port.ts";
import {
  type Script,
  type ScriptedServer,
  serveScript,
} from "tests/core/http1/os/scripted_server.ts";
import { settlesAtOnce } from "tests/support/turns.ts";
import { END_MS_MAX, sendText } from "tests/support/wire.ts";

const text = new TextEncoder();

/** The client and its server. */
interface Scene extends Pick<ScriptedServer, "requests" | "connections"> {
  readonly upstream: Upstream;
}

function test(name: string, script: Script, run: (scene: Scene) => Promise<void>): void {
  Deno.test({
    name,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      await using server = serveScript(script);
      const upstream = openUpstream({ hostname: "127.0.0.1", port: server.port });
      try {
        await run({ ...server, upstream });
      } finally {
        upstream.close();
      }
    },
  });
}

function get(upstream: Upstream, more: Partial<Parameters<Upstream["send"]>[0]> = {}) {
  return upstream.send({
    method: "GET",
    target: "/x",
    headers: [],
    body: null,
    bodyBytes: undefined,
    abortHandle: new AbortHandle(),
    onEnd: () => {},
    ...more,
  });
}

async function bytesOf({ body }: UpstreamAnswer): Promise<string> {
  const bytes = body === null ? new Uint8Array() : await new Response(body).bytes();
  return String.fromCharCode(...bytes);
}

async function faultOf(sent: Promise<unknown>): Promise<string> {
  try {
    await sent;
  } catch (thrown) {
    assert.ok(thrown instanceof UpstreamFault, String(thrown));
    return thrown.reason;
  }
  return "none";
}

/** Longer than the first buffer of a connection, and longer than what is joined before sending. */
for (const length of [2_500, 4_096, 16_384, 20_000]) {
  test(
    `a head of ${length} bytes arrives unchanged, even if not all are ASCII`,
    async (connection) => await sendText(connection, "HTTP/1.1 204 No Content\r\n\r\n"),
    async ({ upstream, requests }) => {
      const value = "\xe9".repeat(100) + "y".repeat(length);
      const abortHandle = new AbortHandle();
      const late = setTimeout(() => abortHandle.abort("late"), END_MS_MAX);
      const headers = [["x-long", value], ["x-user-email", "mia@example.org"]] as const;
      await get(upstream, { headers, abortHandle }).finally(() => clearTimeout(late));
      const [head = ""] = requests;
      assert.ok(head.endsWith("\r\nx-user-email: mia@example.org\r\n\r\n"), head.slice(-99));
      assert.ok(head.includes(`\r\nx-long: ${value}\r\n`));
    },
  );
}

test(
  "a compressed body arrives byte for byte, with its headers",
  (connection) =>
    sendText(
      connection,
      "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 4\r\n\r\n\x8b\0\xff\x03",
    ),
  async ({ upstream }) => {
    const answer = await get(upstream, { headers: [["accept-encoding", "br"]] });
    assert.deepEqual(answer.headers, [["content-encoding", "br"], ["content-length", "4"]]);
    assert.equal(await bytesOf(answer), "\x8b\0\xff\x03");
  },
);

test(
  "one connection serves request after request",
  (connection) => sendText(connection, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"),
  async ({ upstream, connections }) => {
    for (let round = 0; round < 5; round++) assert.equal(await bytesOf(await get(upstream)), "ok");
    assert.equal(connections(), 1);
  },
);

const unsolicited = Promise.withResolvers<void>();
const written = Promise.withResolvers<void>();
const dropped = Promise.withResolvers<void>();
test(
  "unrequested bytes on a kept connection are not the next answer",
  async (connection, _, nth) => {
    await sendText(connection, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    if (nth > 1) return;
    await unsolicited.promise;
    await sendText(connection, "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nbad");
    written.resolve();
    if (await connection.read(new Uint8Array(1)) === null) dropped.resolve();
  },
  async ({ upstream, connections }) => {
    assert.equal(await bytesOf(await get(upstream)), "ok");
    unsolicited.resolve();
    await written.promise;
    assert.ok(await settlesAtOnce(dropped.promise), "the connection is kept");
    assert.equal(await bytesOf(await get(upstream)), "ok");
    assert.equal(connections(), 2);
  },
);

test(
  "interim answers are skipped, and endless ones are refused",
  (connection, request) =>
    sendText(
      connection,
      request.startsWith("GET /endless")
        ? "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(20)
        : "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
    ),
  async ({ upstream }) => {
    assert.equal(await bytesOf(await get(upstream)), "ok");
    assert.equal(await faultOf(get(upstream, { target: "/endless" })), "malformed");
  },
);

test(
  "a stream passes piece by piece, and its end frees the connection",
  async (connection) => {
    await sendText(connection, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    await sendText(connection, "3\r\nabc\r\n");
    await sendText(connection, "2\r\nde\r\n0\r\n\r\n");
  },
  async ({ upstream, connections }) => {
    const ends: number[] = [];
    for (let round = 0; round < 3; round++) {
      assert.equal(await bytesOf(await get(upstream, { onEnd: () => ends.push(round) })), "abcde");
    }
    assert.deepEqual([ends, connections()], [[0, 1, 2], 1]);
  },
);

const CUT: readonly (readonly [string, string])[] = [
  ["a body shorter than it says", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort"],
  [
    "a chunked body without its end",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
  ],
  [
    "a chunk that is longer than it says",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc",
  ],
];
for (const [name, answer] of CUT) {
  test(`${name} fails, and never looks complete`, async (connection) => {
    await sendText(connection, answer);
    connection.close();
  }, async ({ upstream }) => {
    assert.equal(await faultOf(get(upstream).then(bytesOf)), "malformed");
  });
}

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const MALFORMED: readonly string[] = [
  "SSH-2.0-OpenSSH\r\n\r\n",
  "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
  "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
  "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n",
  `HTTP/1.1 200 OK\r\nx: ${"y".repeat(70_000)}\r\n\r\n`,
  "HTTP/1.1 200 OK\r\nhalf",
  `HTTP/1.1 1\r\n\r\n${OK}`,
  `HTTP/1.1 100 Continue\r\nno colon\r\n\r\n${OK}`,
  `HTTP/1.1 100 Continue\nX: y\r\n\r\n${OK}`,
  `HTTP/1.0 100 Continue\r\n\r\n${OK}`,
  `HTTP/1.1 103 Early Hints\r\ntransfer-encoding: chunked\r\n\r\n${OK}`,
  `HTTP/1.1 103 Early Hints\r\ncontent-length: 3\r\n\r\n${OK}`,
];
for (const answer of MALFORMED) {
  test(`${JSON.stringify(answer).slice(0, 50)} is a fault`, async (connection) => {
    await sendText(connection, answer);
    connection.close();
  }, async ({ upstream }) => {
    assert.equal(await faultOf(get(upstream)), "malformed");
  });
}

test(
  "bytes after an answer are never the answer to the next request",
  (connection) =>
    sendText(
      connection,
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n" +
        "content-length: 4\r\n\r\nevil",
    ),
  async ({ upstream, connections }) => {
    for (let round = 0; round < 3; round++) assert.equal(await bytesOf(await get(upstream)), "ok");
    assert.equal(connections(), 3);
  },
);

test(
  "a kept connection that the server closed is replaced once, for repeatable requests",
  async (connection) => {
    await sendText(connection, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    connection.close();
  },
  async ({ upstream, requests }) => {
    assert.equal(await bytesOf(await get(upstream)), "ok");
    assert.equal(await bytesOf(await get(upstream)), "ok");
    const body = () => new Blob(["x"]).stream();
    const posted = await get(upstream, { method: "POST", body: body(), bodyBytes: 1 });
    assert.equal(await bytesOf(posted), "ok");
    assert.equal(requests.filter((request) => request.startsWith("POST")).length, 1);
  },
);

test("a server that closes without an answer is unreachable", (connection) => {
  connection.close();
}, async ({ upstream }) => {
  assert.equal(await faultOf(get(upstream)), "unreachable");
});

test("an abort drops the connection before and during an answer", async (connection) => {
  await sendText(connection, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n");
}, async ({ upstream }) => {
  const during = new AbortHandle();
  const answer = await get(upstream, { abortHandle: during });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  assert.deepEqual((await reader.read()).value, text.encode("a"));
  const next = reader.read();
  during.abort("over");
  await assert.rejects(next);
  const before = new AbortHandle();
  before.abort("over");
  assert.equal(await faultOf(get(upstream, { abortHandle: before })), "aborted");
});

test("bodies are sent upstream with their length, or in chunks", (connection) => {
  return sendText(connection, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
}, async ({ upstream, requests }) => {
  const body = () => new Blob(["abc"]).stream();
  await get(upstream, { method: "PUT", body: body(), bodyBytes: 3 });
  await get(upstream, { method: "PUT", body: body() });
  assert.match(requests[0] ?? "", /content-length: 3\r\n\r\n/);
  assert.match(requests[1] ?? "", /transfer-encoding: chunked\r\n\r\n/);
});

Deno.test("an address without a listener is reported as unreachable", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const upstream = openUpstream({ hostname: "127.0.0.1", port });
  assert.equal(await faultOf(get(upstream)), "unreachable");
});
