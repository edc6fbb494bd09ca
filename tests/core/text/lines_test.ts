/** Tests of lines of limited length. @module */

import assert from "node:assert/strict";
import fc from "fast-check";
import { type LineOptions, LineTooLong, readLines } from "core/text/lines.ts";

function streamOf(chunks: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

async function lines(
  chunks: readonly Uint8Array[],
  options: LineOptions = { lineBytesMax: 1_000_000 },
): Promise<readonly string[]> {
  return await Array.fromAsync(readLines(streamOf(chunks), options));
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Returns the bytes of a text, one per chunk. */
function bytewise(text: string): readonly Uint8Array[] {
  return Array.from(bytes(text), (byte) => Uint8Array.of(byte));
}

Deno.test("readLines() returns the same lines however the bytes are split", async () => {
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

Deno.test("readLines() returns empty lines, and a last line without its end", async () => {
  assert.deepEqual(await lines([bytes("\na\r\n\r\nb")]), ["", "a", "", "b"]);
  const mustEnd = { lineBytesMax: 10, mustEnd: true };
  assert.deepEqual(await lines([bytes("a\nb")], mustEnd), ["a"]);
});

Deno.test("readLines() joins characters and line ends that come in two chunks", async () => {
  const text = "€uro\r\n🦊\n\r\nä\rö";
  assert.deepEqual(await lines(bytewise(text)), ["€uro", "🦊", "", "ä\rö"]);
});

for (
  const [name, chunks] of [
    ["in one chunk", [bytes("1\n12345\n")]],
    ["in two chunks", [bytes("1\n123"), bytes("45\n")]],
    ["without an end", [bytes("1\n12345")]],
  ] as const
) {
  Deno.test(`readLines() throws for a line past its limit, ${name}`, async () => {
    const found: string[] = [];
    const reading = async () => {
      for await (const line of readLines(streamOf(chunks), { lineBytesMax: 4 })) found.push(line);
    };
    await assert.rejects(reading(), new LineTooLong(4));
    assert.deepEqual(found, ["1"]);
  });
}

Deno.test("readLines() splits long lines between characters", async () => {
  const split = { lineBytesMax: 5, longLines: "split" } as const;
  const text = "12345\r\n123456\n€€€€\n🦊🦊\nabcd🦊x";
  const wanted = ["12345", "12345", "6", "€", "€", "€", "€", "🦊", "🦊", "abcd", "🦊x"];
  assert.deepEqual(await lines([bytes(text)], split), wanted);
  assert.deepEqual(await lines(bytewise(text), split), wanted);
  // Invalid UTF-8 is split as well.
  const bad = await lines([new Uint8Array(12).fill(0x80)], split);
  assert.equal(bad.join("").length, 12);
});

Deno.test("readLines() cuts long lines between characters", async () => {
  const cut = { lineBytesMax: 5, longLines: "cut" } as const;
  const text = "12345\n123456789\n€€€€\nabcd🦊x\nend\n1234567";
  const wanted = ["12345", "12345", "€", "abcd", "end", "12345"];
  assert.deepEqual(await lines([bytes(text)], cut), wanted);
  assert.deepEqual(await lines(bytewise(text), cut), wanted);
});

Deno.test("readLines() reads nothing before the first pull, and cancels at the end", async () => {
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
