/**
 * Short requests against servers that are scripted byte by byte. Each bad answer gives its own
 * reason, nothing is sent twice, no closed connection is reused, and every call ends in time.
 * @module
 */

import assert from "node:assert/strict";
import { type HttpCallAnswer, HttpCallFault, type HttpCallRequest } from "core/http1/http_call.ts";
import { HTTP_CALL_LIMITS } from "core/limits/http.ts";
import { openHttpCalls } from "core/http1/os/http_call.ts";
import {
  type Script,
  type ScriptedServer,
  serveScript,
} from "tests/core/http1/os/scripted_server.ts";
import { sendText } from "tests/support/wire.ts";

const OK = 'HTTP/1.1 201 Created\r\ncontent-length: 11\r\n\r\n{"id":"m1"}';

function requestTo(server: ScriptedServer, more: Partial<HttpCallRequest> = {}): HttpCallRequest {
  return {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"a":"ü"}',
    url: `http://127.0.0.1:${server.port}/v3/conversations/a%3A1/activities`,
    answerBytesMax: 64 * 1024,
    timeoutMs: 20_000,
    ...more,
  };
}

/** Returns the outcome of one request: status and body, or the reason of the failure. */
async function outcome(asked: Promise<HttpCallAnswer>): Promise<string> {
  try {
    const { status, body } = await asked;
    return `${status} ${body ?? "(no body)"}`;
  } catch (thrown) {
    assert.ok(thrown instanceof HttpCallFault, String(thrown));
    return thrown.reason;
  }
}

Deno.test("a request arrives complete, and its connection is reused", async () => {
  await using server = serveScript((connection) => sendText(connection, OK));
  const calls = openHttpCalls();
  try {
    const headers = { "content-type": "application/json", authorization: "Bearer t" };
    for (let n = 0; n < 3; n++) {
      const answer = await calls.call(requestTo(server, { headers }));
      assert.deepEqual([answer.status, answer.body], [201, '{"id":"m1"}']);
      assert.equal(answer.header("content-length"), "11");
      assert.equal(answer.header("retry-after"), undefined);
    }
    assert.equal(server.connections(), 1);
    assert.equal(
      server.requests[0],
      "POST /v3/conversations/a%3A1/activities HTTP/1.1\r\n" +
        `host: 127.0.0.1:${server.port}\r\naccept: */*\r\naccept-encoding: identity\r\n` +
        "user-agent: fleetctl\r\ncontent-type: application/json\r\nauthorization: Bearer t\r\n" +
        'content-length: 10\r\n\r\n{"a":"Ã¼"}',
    );
  } finally {
    calls.close();
  }
});

const SLOW_HEAD = "HTTP/1.1 200 OK\r\nx: ";

/** What a server does, and the outcome of the call. */
const ROWS: readonly {
  readonly what: string;
  readonly script: Script;
  readonly comes: string;
  readonly timeoutMs?: number;
}[] = [
  ...[
    { says: OK, comes: '201 {"id":"m1"}' },
    { says: "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", comes: "202 " },
    { says: "HTTP/1.1 204 No Content\r\n\r\n", comes: "204 " },
    {
      says:
        'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n',
      comes: '200 {"a":1}',
    },
    { says: `HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${OK}`, comes: '201 {"id":"m1"}' },
    {
      says: "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n",
      comes: "302 ",
    },
    { says: "HTTP/1.1 429 Slow\r\nretry-after: 2\r\ncontent-length: 2\r\n\r\n{}", comes: "429 {}" },
    {
      says: "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n{}",
      comes: "200 (no body)",
    },
    { says: "HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\nx", comes: "200 (no body)" },
    { says: "HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n", comes: "unanswered" },
    {
      says: "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
      comes: "unanswered",
    },
    {
      says: "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
      comes: "unanswered",
    },
    { says: "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n", comes: "unanswered" },
    { says: "SSH-2.0-x\r\n\r\n", comes: "unanswered" },
    { says: "HTTP/1.1 100 Continue\r\n\r\n".repeat(20), comes: "unanswered" },
    { says: `HTTP/1.1 200 OK\r\nx: ${"y".repeat(80_000)}\r\n\r\n`, comes: "unanswered" },
  ].map(({ says, comes }) => ({
    what: `an answer ${JSON.stringify(says.slice(0, 60))}`,
    script: (connection: Deno.Conn) =>
      sendText(connection, says).then(() =>
        says.includes("1000000000") ? connection.close() : undefined
      ),
    comes,
  })),
  {
    what: "bytes that are not UTF-8",
    script: async (connection) => {
      await sendText(connection, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n");
      await sendText(connection, "\xff\xff");
    },
    comes: "200 (no body)",
  },
  {
    what: "an end before any byte",
    script: (connection) => connection.close(),
    comes: "unanswered",
  },
  {
    what: "an end within the head",
    script: (connection) => sendText(connection, SLOW_HEAD).then(() => connection.close()),
    comes: "unanswered",
  },
  {
    what: "an end within the body",
    script: (connection) =>
      sendText(connection, "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{").then(() =>
        connection.close()
      ),
    comes: "200 (no body)",
  },
  {
    what: "a body that ends with its connection",
    script: (connection) =>
      sendText(connection, "HTTP/1.1 200 OK\r\n\r\n{}").then(() => connection.close()),
    comes: "200 {}",
  },
  {
    what: "a body without an end, in chunks",
    script: async (connection) => {
      await sendText(connection, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
      for (;;) await sendText(connection, `4000\r\n${"x".repeat(0x4000)}\r\n`);
    },
    comes: "200 (no body)",
  },
  { what: "silence", script: () => {}, comes: "unanswered", timeoutMs: 50 },
  {
    what: "a head that stalls",
    script: (connection) => sendText(connection, SLOW_HEAD),
    comes: "unanswered",
    timeoutMs: 50,
  },
  {
    what: "a body that stalls",
    script: (connection) => sendText(connection, "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"),
    comes: "200 (no body)",
    timeoutMs: 50,
  },
];

for (const { what, script, comes, timeoutMs = 20_000 } of ROWS) {
  Deno.test(`${what}: ${comes}, requested once`, async () => {
    await using server = serveScript(script);
    const calls = openHttpCalls();
    try {
      assert.equal(await outcome(calls.call(requestTo(server, { timeoutMs }))), comes);
      assert.equal(server.requests.length, 1);
    } finally {
      calls.close();
    }
  });
}

Deno.test("a kept connection that its server has closed is not used again", async () => {
  const ended = Promise.withResolvers<void>();
  await using server = serveScript(async (connection, _request, nth) => {
    await sendText(connection, OK);
    if (nth > 1) return;
    connection.close();
    ended.resolve();
  });
  const calls = openHttpCalls();
  try {
    assert.equal(await outcome(calls.call(requestTo(server))), '201 {"id":"m1"}');
    await ended.promise;
    // The pending read sees the end of the connection.
    while (calls.idle() > 0) await new Promise((resolve) => setTimeout(resolve, 0));
    assert.equal(await outcome(calls.call(requestTo(server))), '201 {"id":"m1"}');
    assert.deepEqual([server.connections(), server.requests.length], [2, 2]);
  } finally {
    calls.close();
  }
});

Deno.test("a request is not repeated when its kept connection ends", async () => {
  await using server = serveScript((connection, _request, nth) =>
    nth === 1 ? sendText(connection, OK) : connection.close()
  );
  const calls = openHttpCalls();
  try {
    assert.equal(await outcome(calls.call(requestTo(server))), '201 {"id":"m1"}');
    assert.equal(await outcome(calls.call(requestTo(server))), "unanswered");
    assert.deepEqual([server.connections(), server.requests.length], [1, 2]);
  } finally {
    calls.close();
  }
});

Deno.test("an unrequested answer is never used for the next request", async () => {
  const forged = "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged";
  await using server = serveScript((connection) => sendText(connection, OK + forged));
  const calls = openHttpCalls();
  try {
    for (let n = 0; n < 3; n++) {
      assert.equal(await outcome(calls.call(requestTo(server))), '201 {"id":"m1"}');
    }
    assert.equal(server.connections(), 3);
  } finally {
    calls.close();
  }
});

Deno.test("a connection that may not be reused is closed after its answer", async () => {
  const says = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
  await using server = serveScript((connection) => sendText(connection, says));
  const calls = openHttpCalls();
  try {
    for (let n = 0; n < 2; n++) assert.equal(await outcome(calls.call(requestTo(server))), "200 ");
    assert.equal(server.connections(), 2);
  } finally {
    calls.close();
  }
});

Deno.test("concurrent requests use a connection each, and share them afterwards", async () => {
  await using server = serveScript((connection) => sendText(connection, OK));
  const calls = openHttpCalls();
  try {
    for (let round = 0; round < 3; round++) {
      const all = Array.from({ length: 20 }, () => outcome(calls.call(requestTo(server))));
      assert.deepEqual(new Set(await Promise.all(all)), new Set(['201 {"id":"m1"}']));
    }
    assert.equal(server.connections(), 20);
  } finally {
    calls.close();
  }
});

Deno.test("nothing is sent where no server listens", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const calls = openHttpCalls();
  const url = `http://127.0.0.1:${port}/`;
  const request = { method: "POST", url, headers: {}, body: "" } as const;
  const asked = calls.call({ ...request, answerBytesMax: 9, timeoutMs: 20_000 });
  assert.equal(await outcome(asked), "unmade");
  calls.close();
});

for (
  const url of [
    "ftp://h/",
    "http://h",
    "http://u@h/",
    "http://h/#f",
    "http://h\\x/",
    "http://H/",
    "http://h:80/",
    "http://0x7f.1/",
    "http://h/a b",
    "http://h/\r\nx: y",
    "//h/",
  ]
) {
  Deno.test(`${JSON.stringify(url)} is refused as a URL`, async () => {
    const calls = openHttpCalls();
    const request = { method: "POST", url, headers: {}, body: "" } as const;
    await assert.rejects(
      calls.call({ ...request, answerBytesMax: 9, timeoutMs: 20_000 }),
      TypeError,
    );
    calls.close();
  });
}

Deno.test("a header with a line break is not sent", async () => {
  await using server = serveScript((connection) => sendText(connection, OK));
  const calls = openHttpCalls();
  const headers = { authorization: "Bearer x\r\nhost: other" };
  await assert.rejects(calls.call(requestTo(server, { headers })), TypeError);
  assert.equal(server.connections(), 0);
  calls.close();
});

Deno.test("handshakes that never end use a bounded number of connections", async () => {
  const max = HTTP_CALL_LIMITS.idleConnectionsMax;
  // A TLS client hello is no HTTP request, so the script never runs.
  await using server = serveScript(() => {});
  const calls = openHttpCalls();
  const url = `https://127.0.0.1:${server.port}/`;
  const round = async () => {
    const asked = Array.from(
      { length: max },
      () => outcome(calls.call(requestTo(server, { url, timeoutMs: 50 }))),
    );
    assert.deepEqual(new Set(await Promise.all(asked)), new Set(["unmade"]));
  };
  try {
    for (let n = 0; n < 3; n++) await round();
    assert.equal(server.connections(), max);
    // A connection that the server closes makes room again.
    server.hangUp();
    while (server.connections() === max) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      await round();
    }
  } finally {
    calls.close();
  }
});

for (
  const says of [
    "HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n",
    "HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\ntransfer-encoding: chunked\r\n\r\n",
  ]
) {
  Deno.test(`a connection is not reused after ${JSON.stringify(says)}`, async () => {
    await using server = serveScript((connection, _request, nth) =>
      sendText(connection, nth === 1 ? says : `0\r\n\r\n${OK}`)
    );
    const calls = openHttpCalls();
    try {
      assert.match(await outcome(calls.call(requestTo(server))), /^(?:204|304) $/);
      assert.equal(calls.idle(), 0);
    } finally {
      calls.close();
    }
  });
}
