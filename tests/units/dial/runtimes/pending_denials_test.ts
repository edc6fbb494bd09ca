/**
 * Reasons of denials reach the model: each once, with bounded length, and on a separate line.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { byteLength } from "core/text/cut_text.ts";
import { createPendingDenials } from "units/dial/runtimes/pending_denials.ts";

Deno.test("take() returns each reason until reported, and the number above eight", () => {
  const denials = createPendingDenials();
  assert.deepEqual(denials.take(), []);
  for (let n = 1; n <= 11; n++) denials.add(`reason ${n}`);
  const lines = denials.take();
  assert.equal(lines.length, 9);
  assert.deepEqual([lines[0], lines[7], lines[8]], [
    "[permission: reason 1]",
    "[permission: reason 8]",
    "[permission: 3 more calls were denied]",
  ]);
  denials.delivered();
  assert.deepEqual(denials.take(), []);
  denials.add("later");
  assert.deepEqual(denials.take(), ["[permission: later]"]);
});

Deno.test("reasons that a failed turn did not report precede later ones", () => {
  const denials = createPendingDenials();
  for (let n = 1; n <= 9; n++) denials.add(`reason ${n}`);
  const lines = denials.take();
  denials.add("later");
  assert.deepEqual(denials.take(), [
    ...lines.slice(0, 8),
    "[permission: 2 more calls were denied]",
  ]);
  denials.add("last");
  denials.delivered();
  assert.deepEqual(denials.take(), ["[permission: last]"]);
});

Deno.test("no reason can end its line, begin another, or be long", () => {
  const part = fc.constantFrom("]", "[", "\n", "\r", "\u2028", "\0", "é", "word ".repeat(300));
  fc.assert(fc.property(fc.array(fc.oneof(part, fc.string())), (parts) => {
    const denials = createPendingDenials();
    denials.add(parts.join(""));
    const [line, ...more] = denials.take();
    assert.equal(more.length, 0);
    assert.match(line ?? "", /^\[permission: [^[\]\p{Cc}\u2028\u2029]*\]$/u);
    assert.ok(byteLength(line ?? "") < 2_100);
  }));
});
