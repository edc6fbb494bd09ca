/**
 * The proxy's listener byte by byte: what counts as one request, where one ends and the next
 * begins, and how long a peer may take. An answer arrives complete even when the body of its
 * request is refused.
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { isHeadStart, parseRequestHead } from "core/http1/request_head.ts";
import { HTTP_LIMITS } from "core/limits/http.ts";
import type { Answer } from "core/http1/os/answer.ts";
import { type Http1Deps, type Http1Request, serveHttp1 } from "core/http1/os/server.ts";
import type { Listener } from "core/ports/sockets.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";
import { bytesOf, END_MS_MAX, receiveText, sendText } from "tests/support/wire.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 300);
const QUICK = { headersMsMax: 100, requestMsMax: 100, keepAliveMs: 100, checkMs: 20 };

interface Scene {
  readonly listener: Listener;
  /** Method, target and body of each forwarded request. */
  readonly seen: string[];
  /** Sends bytes and returns all data until the end of the connection. */
  say(...pieces: readonly string[]): Promise<string>;
  open(): Promise<Deno.TcpConn>;
}

const cancelled = Promise.withResolvers<void>();
const asked = Promise.withResolvers<void>();
const release = Promise.withResolvers<void>();

function closeQuietly(peer: Deno.Conn): void {
  try {
    peer.close();
  } catch {
    // The test has already closed it.
  }
}

/** Reads one answer that has a `Content-Length`. */
async function readOne(from: Deno.Conn): Promise<string> {
  return await receiveText(from, (text) => {
    const [, head, length] = /^([^]*?content-length: (\d+)[^]*?\r\n\r\n)/.exec(text) ?? [];
    return head !== undefined && text.length >= head.length + Number(length);
  });
}

const echo = async ({ head, body }: Http1Request): Promise<Answer> => {
  const bytes = body === null ? new Uint8Array() : await new Response(body).bytes();
  return { status: 200, headers: [["x-target", head.target]], body: bytes };
};

function test(
  name: string,
  run: (scene: Scene) => Promise<void>,
  of: { readonly answer?: typeof echo } & Pick<Partial<Http1Deps>, "times" | "bounds"> = {},
): void {
  Deno.test({
    name,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      const seen: string[] = [];
      const { answer = echo, times = HTTP_LIMITS, bounds } = of;
      const listener = await serveHttp1({ hostname: "127.0.0.1", port: 0 }, {
        answer: async (request) => {
          seen.push(`${request.head.method} ${request.head.target}`);
          return await answer(request);
        },
        upgrade: () => Promise.resolve(),
      }, { processes: fakeProcesses(), log: recordingLog(), times, bounds });
      const open = () => Deno.connect(listener.address);
      try {
        await run({
          listener,
          seen,
          open,
          say: async (...pieces) => {
            const peer = await open();
            try {
              for (const piece of pieces) await sendText(peer, piece);
              return await receiveText(peer);
            } finally {
              closeQuietly(peer);
            }
          },
        });
      } finally {
        await listener.close(0);
      }
    },
  });
}

const statusOf = (answer: string) => Number(answer.split(" ")[1]);
const HOST = "Host: a\r\n";
const CLOSE = `${HOST}Connection: close\r\n`;

test("one connection serves several requests, also if they arrive together", async (scene) => {
  const one = `GET /1 HTTP/1.1\r\n${HOST}\r\n`;
  const two = `POST /2 HTTP/1.1\r\n${HOST}Content-Length: 3\r\n\r\nabc`;
  const last = `GET /3 HTTP/1.1\r\n${CLOSE}\r\n`;
  const answer = await scene.say(one + two + last);
  assert.deepEqual(scene.seen, ["GET /1", "POST /2", "GET /3"]);
  assert.equal(answer.match(/HTTP\/1\.1 200 OK/g)?.length, 3);
  assert.match(answer, /content-length: 3\r\n[^]*\r\n\r\nabcHTTP/);
  assert.match(answer, /keep-alive: timeout=5\r\n/);
});

test("a request that arrives byte by byte is parsed like any other", async (scene) => {
  const text = `\r\nPOST /x HTTP/1.1\r\n${CLOSE}Transfer-Encoding: chunked\r\n\r\n` +
    "2\r\nab\r\n1;a=b\r\nc\r\n0\r\n\r\n";
  const answer = await scene.say(...text);
  assert.deepEqual([scene.seen, statusOf(answer)], [["POST /x"], 200]);
  assert.ok(answer.endsWith("\r\n\r\nabc"));
});

/** Ambiguous requests, and requests of other protocols. */
const REFUSED: readonly (readonly [string, string, number])[] = [
  ["a line that ends in LF", `GET / HTTP/1.1\n${HOST}\r\n\r\n`, 400],
  ["a bare LF", `GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n`, 400],
  ["a bare CR", `GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n`, 400],
  ["two spaces", `GET  / HTTP/1.1\r\n${HOST}\r\n`, 400],
  ["a tab", `GET\t/ HTTP/1.1\r\n${HOST}\r\n`, 400],
  ["no version", `GET /\r\n${HOST}\r\n`, 400],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505],
  ["the start of a TLS handshake", "\x16\x03\x01\x02\0\x01", 400],
  ["bytes in the target", `GET /\xff HTTP/1.1\r\n${HOST}\r\n`, 400],
  ["a name with a space", `GET / HTTP/1.1\r\n${HOST}X y: 1\r\n\r\n`, 400],
  ["a line without a name", `GET / HTTP/1.1\r\n${HOST}: 1\r\n\r\n`, 400],
  ["a folded line", `GET / HTTP/1.1\r\n${HOST}X: 1\r\n 2\r\n\r\n`, 400],
  ["no host", "GET / HTTP/1.1\r\n\r\n", 400],
  ["chunks in HTTP/1.0", `POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 400],
  [
    "a length and chunks",
    `POST / HTTP/1.1\r\n${HOST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
    400,
  ],
  ["a coding twice", `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked, chunked\r\n\r\n`, 400],
  ["two lengths", `POST / HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 1\r\n\r\na`, 400],
  ["a length in hex", `POST / HTTP/1.1\r\n${HOST}Content-Length: 0x1\r\n\r\na`, 400],
  [
    "a Content-Length that begins with 0",
    `POST / HTTP/1.1\r\n${HOST}Content-Length: 01\r\n\r\na`,
    400,
  ],
  ["a tab behind a length", `POST / HTTP/1.1\r\n${HOST}Content-Length: 1\t\r\n\r\na`, 400],
  ["a tab before a coding", `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding:\tchunked\r\n\r\n`, 400],
  ["a target that is a word", `GET foo HTTP/1.1\r\n${HOST}\r\n`, 400],
  ["a target of another scheme", `GET ftp://a/ HTTP/1.1\r\n${HOST}\r\n`, 400],
  ["a host in the target that is none", `GET http://a\\b/ HTTP/1.1\r\n${HOST}\r\n`, 400],
  ["a fragment", `GET /a#b HTTP/1.1\r\n${HOST}\r\n`, 400],
  ["no path", `OPTIONS * HTTP/1.1\r\n${HOST}\r\n`, 400],
  [
    "an upgrade with a body",
    `GET / HTTP/1.1\r\n${HOST}Connection: upgrade\r\nUpgrade: websocket\r\n` +
    `Content-Length: 1\r\n\r\na`,
    400,
  ],
  ["a tunnel", `CONNECT a:1 HTTP/1.1\r\n${HOST}\r\n`, 501],
  [
    "another expectation",
    `POST / HTTP/1.1\r\n${HOST}Expect: 200-ok\r\nContent-Length: 1\r\n\r\na`,
    417,
  ],
  ["a long head", `GET / HTTP/1.1\r\n${HOST}X: ${"y".repeat(20_000)}\r\n\r\n`, 431],
  ["many headers", `GET / HTTP/1.1\r\n${HOST}${"X: y\r\n".repeat(300)}\r\n`, 431],
];
for (const [name, text, status] of REFUSED) {
  test(`${name} is refused, and the bytes after it are not a request`, async (scene) => {
    const answer = await scene.say(`${text}GET /smuggled HTTP/1.1\r\n${CLOSE}\r\n`);
    assert.deepEqual([statusOf(answer), scene.seen], [status, []]);
    assert.match(answer, /connection: close\r\n/);
  });
}

for (const text of ["GET / HTTP/1.1\nHost: a\n\n", "\x16\x03\x01\x02\0\x01", "\n\nGET /"]) {
  test(`${JSON.stringify(text)} is refused at once, without waiting for more`, async (scene) => {
    assert.equal(statusOf(await scene.say(text)), 400);
  });
}

test("the body of a GET is not read as the next request", async (scene) => {
  const smuggled = `GET /smuggled HTTP/1.1\r\n${HOST}\r\n`;
  await scene.say(
    `GET /x HTTP/1.1\r\n${CLOSE}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
  );
  assert.deepEqual(scene.seen, ["GET /x"]);
}, { answer: () => Promise.resolve({ status: 200, headers: [], body: null }) });

test(
  "an unread body is skipped if it has arrived, else the connection ends",
  async (scene) => {
    const peer = await scene.open();
    await sendText(peer, `POST /1 HTTP/1.1\r\n${HOST}Content-Length: 3\r\n\r\nabc`);
    await readOne(peer);
    await sendText(peer, `POST /2 HTTP/1.1\r\n${HOST}Content-Length: 9\r\n\r\nabc`);
    const answer = await receiveText(peer);
    assert.match(answer, /connection: close\r\n/);
    peer.close();
    assert.deepEqual(scene.seen, ["POST /1", "POST /2"]);
  },
  { answer: () => Promise.resolve({ status: 401, headers: [], body: null }) },
);

Deno.test("the sender of a refused body gets the whole refusal while it still writes", async () => {
  const text = "x".repeat(3_000);
  const listener = await serveHttp1({ hostname: "127.0.0.1", port: 0 }, {
    answer: () => Promise.resolve({ status: 413, headers: [], body: bytesOf(text) }),
    upgrade: () => Promise.resolve(),
  }, { processes: fakeProcesses(), log: recordingLog(), times: HTTP_LIMITS });
  const piece = new Uint8Array(64 * 1024);
  const one = async () => {
    const peer = await Deno.connect(listener.address);
    await sendText(peer, `POST / HTTP/1.1\r\n${HOST}Content-Length: 8000000\r\n\r\n`);
    const writing = (async () => {
      for (let sent = 0; sent < 8_000_000;) {
        sent += await peer.write(piece.subarray(0, 8_000_000 - sent));
      }
    })();
    // Reads only after it has sent everything. Many clients give up when a write fails.
    await writing;
    const answer = await receiveText(peer);
    peer.close();
    assert.equal(statusOf(answer), 413);
    assert.ok(answer.endsWith(text), `${answer.length} bytes came`);
  };
  try {
    for (let round = 0; round < ROUNDS / 30; round++) await Promise.all([one(), one(), one()]);
  } finally {
    await listener.close(0);
  }
});

test("a client that waits gets 100 Continue, unless its body is not wanted", async (scene) => {
  const peer = await scene.open();
  const head = `POST /x HTTP/1.1\r\n${CLOSE}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`;
  await sendText(peer, head);
  const buffer = new Uint8Array(1024);
  const read = await peer.read(buffer) ?? 0;
  assert.equal(new TextDecoder().decode(buffer.subarray(0, read)), "HTTP/1.1 100 Continue\r\n\r\n");
  await sendText(peer, "ok");
  assert.match(await receiveText(peer), /^HTTP\/1\.1 200 [^]*\r\n\r\nok$/);
  peer.close();
});

test("HTTP/1.0 gets no chunks and one answer", async (scene) => {
  const answer = await scene.say("GET /x HTTP/1.0\r\n\r\n");
  assert.ok(!/transfer-encoding/.test(answer));
  assert.match(answer, /connection: close\r\n\r\nabc$/);
}, {
  answer: () => Promise.resolve({ status: 200, headers: [], body: new Blob(["abc"]).stream() }),
});

test(
  "an answer that differs from its stated length never looks complete",
  async (scene) => {
    for (const target of ["/2", "/9"]) {
      const answer = await scene.say(`GET ${target} HTTP/1.1\r\n${HOST}\r\n`);
      assert.match(answer, /content-length: /);
      assert.ok(!answer.endsWith("abc") || target === "/9");
    }
  },
  {
    answer: ({ head }) =>
      Promise.resolve({
        status: 200,
        headers: [["content-length", head.target.slice(1)]],
        body: new Blob(["abc"]).stream(),
      }),
  },
);

test("a header with a line break becomes a 500 and is not sent", async (scene) => {
  const answer = await scene.say(`GET / HTTP/1.1\r\n${CLOSE}\r\n`);
  assert.equal(statusOf(answer), 500);
  assert.ok(!/y: b/.test(answer));
}, {
  answer: () => Promise.resolve({ status: 200, headers: [["x", "a\r\ny: b"]], body: null }),
});

test("a head that never ends is answered after the timeout", async (scene) => {
  assert.equal(statusOf(await scene.say("GET / HTTP/1.1\r\nHos")), 408);
  assert.deepEqual(scene.seen, []);
}, { times: QUICK });

test("a body that never ends is answered after the timeout", async (scene) => {
  const answer = await scene.say(`POST / HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nab`);
  assert.equal(statusOf(answer), 408);
}, { times: QUICK });

test("an idle connection ends, a slow answer does not", async (scene) => {
  const answer = await scene.say(`GET / HTTP/1.1\r\n${HOST}\r\n`);
  assert.match(answer, /^HTTP\/1\.1 200 [^]*late$/);
}, {
  times: QUICK,
  answer: async () => {
    await new Promise((resolve) => setTimeout(resolve, 400));
    return { status: 200, headers: [], body: bytesOf("late") };
  },
});

test("a client that does not read its answer is disconnected", async (scene) => {
  const peer = await scene.open();
  await sendText(peer, `GET / HTTP/1.1\r\n${HOST}\r\n`);
  const timer = setTimeout(() => cancelled.reject(new Error("it waits for ever")), END_MS_MAX);
  try {
    await cancelled.promise;
  } finally {
    clearTimeout(timer);
    peer.close();
  }
}, {
  times: QUICK,
  bounds: { writeStallMsMax: 100, lingerMsMax: 100 },
  answer: () => {
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(256 * 1024)),
      cancel: () => cancelled.resolve(),
    });
    return Promise.resolve({ status: 200, headers: [], body });
  },
});

test("a close completes the answer in progress, and accepts no further request", async (scene) => {
  const peer = await scene.open();
  const idle = await scene.open();
  await sendText(peer, `GET / HTTP/1.1\r\n${HOST}\r\n`);
  await asked.promise;
  const closed = scene.listener.close(60_000);
  assert.equal(await receiveText(idle).catch(() => ""), "");
  release.resolve();
  assert.match(await receiveText(peer), /connection: close\r\n\r\ndone$/);
  await closed;
  peer.close();
  idle.close();
}, {
  answer: async () => {
    asked.resolve();
    await release.promise;
    return { status: 200, headers: [], body: bytesOf("done") };
  },
});

Deno.test("parseRequestHead() accepts only an unambiguous request", () => {
  const piece = fc.constantFrom(
    ..."GET|POST| |/|/a?b|HTTP/1.1|HTTP/1.0|\r\n|\r|\n|:|Host: a".split("|"),
    ..."Content-Length: 5|Content-Length: 05".split("|"),
    ..."Transfer-Encoding: chunked|Transfer-Encoding:chunked |Connection: close|X: \xff|\0|\t|,| 5"
      .split("|"),
  );
  const heads = fc.array(piece, { maxLength: 14 }).map((all) => all.join(""));
  const shaped = fc.array(piece, { maxLength: 6 }).map((all) =>
    `GET / HTTP/1.1\r\nHost: a\r\n${all.join("\r\n")}`
  );
  fc.assert(
    fc.property(fc.oneof(heads, shaped), (text) => {
      const parsed = parseRequestHead(text);
      if (!parsed.ok) return assert.ok([400, 417, 431, 501, 505].includes(parsed.error));
      const { headers, framing, target } = parsed.value;
      assert.match(target, /^[\x21-\x7e]+$/);
      for (const [name, value] of headers) {
        assert.match(name, /^[!#$%&'*+.^_`|~0-9a-z-]+$/);
        assert.ok(!/[\r\n\0]/.test(value) && !/^[ \t]|[ \t]$/.test(value), value);
      }
      const lengths = [...headers].filter(([name]) => name === "content-length");
      const codings = [...headers].filter(([name]) => name === "transfer-encoding");
      assert.ok(lengths.length + codings.length < 2);
      const kind = codings.length === 1 ? "chunked" : lengths.length === 1 ? "length" : "none";
      assert.equal(framing.kind, kind);
    }),
    { numRuns: ROUNDS },
  );
});

Deno.test("isHeadStart() knows other protocols by their first byte", () => {
  for (const byte of [0x16, 0x80, 0x00, 0x20, 0x0a]) assert.equal(isHeadStart(byte), false);
  for (const byte of bytesOf("GPOD\r")) assert.equal(isHeadStart(byte), true);
});
