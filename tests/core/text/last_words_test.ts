/**
 * Which line of stderr is shown.
 *
 * @module
 */

import assert from "node:assert/strict";
import { tellingLine } from "core/runtimes/drivers/last_words.ts";

const ROWS: readonly (readonly [string, string | undefined])[] = [
  ["error: no such socket", "error: no such socket"],
  ["  \u001b[1m\u001b[31merror\u001b[0m: red  ", "error: red"],
  ["    at main (file:///x.js:1:1)", undefined],
  ["\u001b[0m    at \u001b[36mfile:///x.js\u001b[0m:1", undefined],
  ["        ^^^", undefined],
  ["", undefined],
  ["x".repeat(900), "x".repeat(500)],
  ["a\u0007b", "a b"],
];
for (const [line, wanted] of ROWS) {
  Deno.test(`tellingLine() of ${JSON.stringify(line).slice(0, 40)}`, () => {
    assert.equal(tellingLine(line), wanted);
  });
}
