/**
 * Truncating texts to a number of bytes.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { byteLength, cutMiddle, cutText } from "core/text/cut_text.ts";

const encoder = new TextEncoder();
const text = fc.string({ unit: "grapheme", maxLength: 200 });

Deno.test("byteLength() counts UTF-8 bytes", () => {
  fc.assert(fc.property(text, (given) => {
    assert.equal(byteLength(given), encoder.encode(given).length);
  }));
});

Deno.test("cutText() keeps whole characters from the beginning and counts the rest", () => {
  fc.assert(fc.property(text, fc.integer({ min: 0, max: 100 }), (given, max) => {
    const cut = cutText(given, max);
    assert.ok(given.startsWith(cut.text));
    assert.ok(byteLength(cut.text) <= max);
    assert.equal(byteLength(cut.text) + cut.cutBytes, byteLength(given));
    assert.ok(!cut.text.includes("\ufffd") || given.includes("\ufffd"));
  }));
});

Deno.test("cutText() keeps a byte order mark", () => {
  assert.equal(cutText("\ufeffabc", 4).text, "\ufeffa");
});

Deno.test("cutMiddle() keeps both ends", () => {
  fc.assert(fc.property(text, fc.integer({ min: 0, max: 100 }), (given, max) => {
    const cut = cutMiddle(given, max);
    if (cut.cutBytes === 0) return assert.equal(cut.text, given);
    const [head, tail] = cut.text.split(`\n[… ${cut.cutBytes} bytes left out …]\n`);
    assert.ok(given.startsWith(head ?? "?"));
    assert.ok(given.endsWith(tail ?? "?"));
    assert.equal(byteLength(`${head}${tail}`) + cut.cutBytes, byteLength(given));
  }));
});
