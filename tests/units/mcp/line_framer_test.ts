/**
 * The line framer, with the stream cut into chunks in every way.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { createLineFramer, type Frame } from "units/mcp/line_framer.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Feeds `bytes` in pieces cut at `cuts`. */
function feed(bytes: Uint8Array, cuts: readonly number[], lineBytesMax: number) {
  const framer = createLineFramer(lineBytesMax);
  const frames: Frame[] = [];
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const cut of [...at, bytes.length]) {
    // Overwrite the piece afterwards, as a reader does with its buffer.
    const piece = bytes.slice(from, cut);
    frames.push(...framer.push(piece));
    piece.fill(0x58);
    from = cut;
  }
  return { frames, pending: framer.pendingBytes() };
}

Deno.test("createLineFramer() gives the same lines however the bytes are cut", () => {
  fc.assert(fc.property(
    fc.array(fc.string({ unit: "grapheme", maxLength: 40 })),
    fc.string({ maxLength: 10 }),
    fc.array(fc.nat(), { maxLength: 30 }),
    (texts, rest, cuts) => {
      const lines = texts.map((text) => text.replaceAll("\n", ""));
      const tail = rest.replaceAll("\n", "");
      const bytes = encoder.encode(lines.map((line) => `${line}\n`).join("") + tail);
      const { frames, pending } = feed(bytes, cuts, 1000);
      assert.deepEqual(
        frames.map((frame) => frame.kind === "line" ? decoder.decode(frame.bytes) : frame),
        lines.map((line) => `${line}\n`),
      );
      assert.equal(pending, encoder.encode(tail).length);
    },
  ));
});

Deno.test("createLineFramer() keeps only the envelope of a line past the limit", () => {
  fc.assert(fc.property(
    fc.oneof(fc.integer(), fc.string({ maxLength: 20 })),
    fc.string({ minLength: 60, maxLength: 200 }),
    fc.array(fc.nat(), { maxLength: 20 }),
    fc.boolean(),
    (id, text, cuts, idFirst) => {
      const params = { name: text, id: "not this", params: { id: 5 } };
      const message = idFirst
        ? { id, method: "tools/call", params }
        : { params, method: "tools/call", id };
      const large = JSON.stringify(message);
      const bytes = encoder.encode(`${large}\n{"next":1}\n`);
      const { frames } = feed(bytes, cuts, 50);
      assert.equal(frames.length, 2);
      const [first, second] = frames;
      assert.ok(first?.kind === "oversize");
      assert.equal(first.size, encoder.encode(large).length);
      assert.equal(first.envelope.id, id);
      assert.equal(first.envelope.method, "tools/call");
      assert.ok(second?.kind === "line" && decoder.decode(second.bytes) === '{"next":1}\n');
    },
  ));
});

Deno.test("createLineFramer() counts a line without its newline", () => {
  const framer = createLineFramer(3);
  const kinds = framer.push(encoder.encode("abc\nabcd\n\n")).map((frame) => frame.kind);
  assert.deepEqual(kinds, ["line", "oversize", "line"]);
});
