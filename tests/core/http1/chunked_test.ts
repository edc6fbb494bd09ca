/**
 * Chunked coding: every way to split it gives the same body, and malformed input is refused.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { createChunkDecoder } from "core/http1/chunked.ts";
import { bytesOf } from "tests/support/wire.ts";

function decode(text: string, cut: number): { body: string; done: boolean; surplus: number } {
  const decoder = createChunkDecoder();
  const bytes = bytesOf(text);
  let body = "";
  for (let at = 0; at < bytes.length; at += cut) {
    for (const piece of decoder.take(bytes.slice(at, at + cut))) {
      body += new TextDecoder().decode(piece);
    }
  }
  return { body, done: decoder.isDone(), surplus: decoder.surplus() };
}

Deno.test("take() returns the same body however it is split", () => {
  fc.assert(fc.property(
    fc.array(fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 40 }), { maxLength: 8 }),
    fc.integer({ min: 1, max: 64 }),
    fc.boolean(),
    (chunks, cut, hasTrailer) => {
      const text = chunks.map((chunk) => `${chunk.length.toString(16)};ext=1\r\n${chunk}\r\n`)
        .join("") + `0\r\n${hasTrailer ? "x: y\r\n" : ""}\r\n`;
      assert.deepEqual(decode(text, cut), { body: chunks.join(""), done: true, surplus: 0 });
    },
  ));
});

Deno.test("take() drops extensions and trailers that are well formed", () => {
  const text = '3;a;b=c;d="e;\\"\xe9"\r\nabc\r\n00;z\r\nx: y\r\nEmpty:\r\n\r\n';
  const decoder = createChunkDecoder();
  const [data] = decoder.take(bytesOf(text));
  assert.deepEqual([data, decoder.isDone(), decoder.surplus()], [bytesOf("abc"), true, 0]);
});

Deno.test("surplus() reports bytes after the end", () => {
  assert.equal(decode("0\r\n\r\nHTTP/1.1 200", 100).surplus, 12);
});

Deno.test("isDone() is false for every proper prefix", () => {
  const text = "3\r\nabc\r\n0\r\n\r\n";
  for (let length = 0; length < text.length; length++) {
    assert.equal(decode(text.slice(0, length), 100).done, false, text.slice(0, length));
  }
});

for (
  const bad of [
    "g\r\n",
    "\r\n",
    "-1\r\n",
    "0x3\r\nabc\r\n",
    " 3\r\nabc\r\n",
    "3\nabc\r\n",
    "3\rabc",
    "3\r\nabcd\r\n",
    "3\r\nabc\n0\r\n\r\n",
    "fffffffffffff\r\n",
    "3 \r\nabc\r\n",
    "3\t\r\nabc\r\n",
    "3 ;a\r\nabc\r\n",
    "3; a=b\r\nabc\r\n",
    "3;\r\nabc\r\n",
    "3;;a\r\nabc\r\n",
    "3;a=\r\nabc\r\n",
    "3;a b\r\nabc\r\n",
    "3;a=\xff\r\nabc\r\n",
    '3;a="b\r\nabc\r\n',
    '3;a="\0"\r\nabc\r\n',
    "0\r\nno colon\r\n\r\n",
    "0\r\nx : y\r\n\r\n",
    "0\r\nx: \0\r\n\r\n",
    "0\r\nx: y\r\n z\r\n\r\n",
    "0\r\nContent-Length: 3\r\n\r\n",
    "0\r\ntransfer-encoding: chunked\r\n\r\n",
    `3;${"x".repeat(5_000)}\r\n`,
    `0\r\n${"x: y\r\n".repeat(5_000)}\r\n`,
  ]
) {
  Deno.test(`take() refuses ${JSON.stringify(bad).slice(0, 40)}`, () => {
    assert.throws(() => decode(bad, 7), SyntaxError);
  });
}
