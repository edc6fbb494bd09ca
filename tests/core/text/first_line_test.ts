/**
 * The first line of a stream, wherever its chunks end, and the bytes after it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { takeFirstLine } from "core/text/first_line.ts";
import { LineTooLong } from "core/text/lines.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

function streamOf(chunks: readonly string[], onCancel = () => {}): ReadableStream<Uint8Array> {
  const left = [...chunks];
  return new ReadableStream({
    pull(controller) {
      const next = left.shift();
      if (next === undefined) controller.close();
      else controller.enqueue(encode(next));
    },
    cancel: onCancel,
  });
}

const ROWS: readonly (readonly [string, readonly string[], string, string])[] = [
  ["one chunk", ["a\nb\nc"], "a", "b\nc"],
  ["pieces of the line", ["a", "b", "c\nd", "e"], "abc", "de"],
  ["nothing after the line", ["a\r\n"], "a", ""],
  ["an empty line", ["\n\n"], "", "\n"],
];
for (const [name, chunks, line, rest] of ROWS) {
  Deno.test(`takeFirstLine() takes the line of ${name}`, async () => {
    const taken = await takeFirstLine(streamOf(chunks), { lineBytesMax: 8 });
    assert.ok(taken !== undefined);
    assert.equal(decode(taken.line), line);
    assert.equal(await new Response(taken.rest).text(), rest);
  });
}

Deno.test("takeFirstLine() returns nothing for a stream that ends, or is given up", async () => {
  assert.equal(await takeFirstLine(streamOf(["abc"]), { lineBytesMax: 8 }), undefined);
  const stop = new AbortController();
  const silent = new ReadableStream<Uint8Array>();
  const taken = takeFirstLine(silent, { lineBytesMax: 8, signal: stop.signal });
  stop.abort();
  assert.equal(await taken, undefined);
  const late = { lineBytesMax: 8, signal: stop.signal };
  assert.equal(await takeFirstLine(new ReadableStream<Uint8Array>(), late), undefined);
});

Deno.test("takeFirstLine() refuses a long line and cancels the stream", async () => {
  const cancelled = Promise.withResolvers<void>();
  const stream = streamOf(["a".repeat(9), "b\n"], cancelled.resolve);
  await assert.rejects(takeFirstLine(stream, { lineBytesMax: 8 }), LineTooLong);
  await cancelled.promise;
});

Deno.test("cancelling the rest cancels the stream", async () => {
  const cancelled = Promise.withResolvers<void>();
  const taken = await takeFirstLine(streamOf(["a\n", "b"], cancelled.resolve), { lineBytesMax: 8 });
  await taken?.rest.cancel();
  await cancelled.promise;
});
