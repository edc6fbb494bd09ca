/**
 * Lines of JSON over byte streams.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { LineTooLong, parseJsonLine, readLines } from "core/runtimes/drivers/json_lines.ts";

function streamOf(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

async function lines(chunks: readonly Uint8Array[], lineBytesMax = 1_000_000) {
  const found: string[] = [];
  for await (const line of readLines(streamOf(chunks), { lineBytesMax })) found.push(line);
  return found;
}

Deno.test("readLines() gives the same lines however the bytes are cut", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: "grapheme" }).map((line) => line.replace(/[\r\n]/g, ""))),
      fc.array(fc.integer({ min: 1, max: 9 })),
      async (wanted, sizes) => {
        const bytes = new TextEncoder().encode(wanted.map((line) => `${line}\n`).join(""));
        const chunks: Uint8Array[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % Math.max(1, sizes.length)] ?? 7;
          chunks.push(bytes.subarray(at, at + size));
          at += size;
        }
        assert.deepEqual(await lines(chunks), wanted);
      },
    ),
  );
});

Deno.test("readLines() takes a last line without newline and drops a carriage return", async () => {
  assert.deepEqual(await lines([new TextEncoder().encode("a\r\nb")]), ["a", "b"]);
});

Deno.test("readLines() throws for a line past its limit", async () => {
  await assert.rejects(lines([new Uint8Array(11).fill(65)], 10), LineTooLong);
});

Deno.test("readLines() reads nothing before it is asked, and cancels when it is left", async () => {
  let pulled = 0;
  let cancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      pulled++;
      controller.enqueue(new TextEncoder().encode("line\n"));
    },
    cancel() {
      cancelled = true;
    },
  }, { highWaterMark: 0 });
  const reader = readLines(stream, { lineBytesMax: 100 });
  assert.equal(pulled, 0);
  await reader.next();
  await reader.next();
  assert.equal(pulled, 2);
  await reader.return();
  assert.ok(cancelled);
});

Deno.test("parseJsonLine() takes objects only", () => {
  assert.deepEqual(parseJsonLine('{"a":1}'), { a: 1 });
  for (const line of ["", "[]", "1", "null", "{", "text"]) {
    assert.equal(parseJsonLine(line), undefined);
  }
});
