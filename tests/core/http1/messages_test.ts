/**
 * Heads of HTTP/1.1 as a client reads and writes them: which are accepted, and which are refused.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type Framing, parseAnswerHead, printRequestHead } from "core/http1/messages.ts";

function head(...lines: readonly string[]): string {
  return ["HTTP/1.1 200 OK", ...lines].join("\r\n");
}

Deno.test("parseAnswerHead() knows how the body of each answer ends", () => {
  const rows: readonly [string, string, Framing, boolean][] = [
    ["GET", head("Content-Length: 5"), { kind: "length", bytes: 5 }, true],
    ["GET", head("Content-Length: 0"), { kind: "none" }, true],
    ["HEAD", head("Content-Length: 5"), { kind: "none" }, true],
    ["GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5", { kind: "none" }, true],
    ["GET", "HTTP/1.1 204\r\nx: y", { kind: "none" }, true],
    ["GET", head("Transfer-Encoding: Chunked"), { kind: "chunked" }, true],
    ["GET", head(), { kind: "close" }, false],
    ["GET", head("Content-Length: 5", "Connection: close"), { kind: "length", bytes: 5 }, false],
    ["GET", "HTTP/1.0 200 OK\r\ncontent-length: 5", { kind: "length", bytes: 5 }, false],
  ];
  for (const [method, text, framing, isKept] of rows) {
    const parsed = parseAnswerHead(text, method);
    assert.ok(parsed.ok, text);
    assert.deepEqual([parsed.value.framing, parsed.value.isKept], [framing, isKept], text);
  }
});

Deno.test("parseAnswerHead() keeps order, repeats and bytes, but no hop-by-hop field", () => {
  const parsed = parseAnswerHead(
    head(
      "Set-Cookie: a=1",
      "set-cookie: b=2",
      'ETag: \t"\xe9" ',
      "Connection: keep-alive, X-Hop",
      "X-Hop: 1",
      "Keep-Alive: timeout=5",
      "Content-Encoding: br",
      "Content-Length: 3",
    ),
    "GET",
  );
  assert.ok(parsed.ok);
  assert.deepEqual(parsed.value.headers, [
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
    ["etag", '"\xe9"'],
    ["content-encoding", "br"],
    ["content-length", "3"],
  ]);
});

/** Ambiguous heads, which two readers could interpret differently. */
const REFUSED: readonly string[] = [
  "",
  "HTTP/2 200 OK",
  "HTTP/1.1 20 OK",
  "HTTP/1.1  200 OK",
  "http/1.1 200 OK",
  "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket",
  head("Content-Length: 5", "Content-Length: 5"),
  head("Content-Length: 5, 5"),
  head("Content-Length: +5"),
  head("Content-Length: 0x5"),
  head("Content-Length: 05"),
  head("Content-Length: 1e3"),
  head("Content-Length: 99999999999999999999"),
  head("Content-Length: "),
  head("Content-Length: 5\t"),
  head("Transfer-Encoding:\tchunked"),
  head("Content-Length: 5", "Transfer-Encoding: chunked"),
  head("Transfer-Encoding: gzip, chunked"),
  head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
  head("Transfer-Encoding: \x0bchunked"),
  head("Content-Length : 5"),
  head(" folded: 1"),
  head("a: b", " c"),
  head("a: b\nc: d"),
  head("a: b\rc: d"),
  head("a: \x00"),
  head("no colon"),
  head(": no name"),
  head("n\xe4me: x"),
  head(...Array.from({ length: 257 }, (_, index) => `x-${index}: y`)),
];

for (const [index, text] of REFUSED.entries()) {
  Deno.test(`parseAnswerHead() refuses ${index}: ${JSON.stringify(text).slice(0, 60)}`, () => {
    assert.equal(parseAnswerHead(text, "GET").ok, false);
  });
}

Deno.test("parseAnswerHead() never throws, and accepts nothing with a line break in it", () => {
  fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 200 }), (junk) => {
    const parsed = parseAnswerHead(`HTTP/1.1 200 OK\r\n${junk}`, "GET");
    if (!parsed.ok) return;
    for (const [name, value] of parsed.value.headers) {
      assert.doesNotMatch(name + value, /[\r\n\0]/);
    }
  }));
});

Deno.test("printRequestHead() frames a request in exactly one way", () => {
  const request = { method: "POST", target: "/a?b", headers: [["x", "y"]] as const };
  assert.equal(
    printRequestHead(request, { host: "h:1", body: 3 }),
    "POST /a?b HTTP/1.1\r\nhost: h:1\r\nx: y\r\ncontent-length: 3\r\n\r\n",
  );
  assert.match(printRequestHead(request, { host: "h", body: "chunked" }), /chunked\r\n\r\n$/);
  assert.doesNotMatch(printRequestHead(request, { host: "h", body: undefined }), /content-length/);
});

Deno.test("printRequestHead() throws on what would become a second line or request", () => {
  const good = { method: "GET", target: "/", headers: [] };
  const framing = { host: "h", body: undefined };
  for (
    const bad of [
      { ...good, target: "/a b" },
      { ...good, target: "/\r\nx" },
      { ...good, target: "http://other/" },
      { ...good, method: "GET /" },
      { ...good, headers: [["a\r\nb", "c"]] as const },
      { ...good, headers: [["a", "b\r\nc: d"]] as const },
      { ...good, headers: [["a", "\u0142"]] as const },
    ]
  ) assert.throws(() => printRequestHead(bad, framing), TypeError);
});
