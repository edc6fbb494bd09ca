/**
 * Search results of the palette, and how arrow keys move through them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { findItems, stepTo } from "gateway/web/state/palette.ts";

const ITEMS = [
  { words: "ada", note: "idle" },
  { words: "bob", note: "failed" },
  { words: "Model of ada", note: "connect a real model" },
  { words: "Theme: dark", note: "" },
];

const ROWS: readonly [query: string, found: readonly string[]][] = [
  ["", ["ada", "bob", "Model of ada", "Theme: dark"]],
  ["ADA", ["ada", "Model of ada"]],
  ["mod", ["Model of ada"]],
  ["real ada", ["Model of ada"]],
  ["d", ["ada", "bob", "Model of ada", "Theme: dark"]],
  ["  fail ", ["bob"]],
  ["zoe", []],
];
for (const [query, found] of ROWS) {
  Deno.test(`findItems() finds ${found.length} for ${JSON.stringify(query)}`, () => {
    assert.deepEqual(findItems(ITEMS, query).map(({ words }) => words), found);
  });
}

Deno.test("stepTo() wraps around at both ends", () => {
  assert.deepEqual([stepTo(0, -1, 3), stepTo(2, 1, 3), stepTo(0, 1, 3), stepTo(0, 1, 0)], [
    2,
    0,
    1,
    0,
  ]);
});
