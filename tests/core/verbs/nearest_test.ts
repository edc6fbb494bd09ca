/**
 * Suggestions for mistyped words.
 *
 * @module
 */

import assert from "node:assert/strict";
import { nearest } from "core/verbs/nearest.ts";

const WORDS = ["mcp add", "mcp remove", "status", "secret set", "secret get", "apply"];
const ROWS: readonly [typed: string, want: string | undefined][] = [
  ["mpc add", "mcp add"],
  ["stauts", "status"],
  ["mcp ad", "mcp add"],
  ["secret gte", "secret get"],
  ["aply", "apply"],
  ["zzzzzz", undefined],
  ["", undefined],
  ["apply", "apply"],
];

for (const [typed, want] of ROWS) {
  Deno.test(`nearest() answers ${want ?? "nothing"} when "${typed}" is typed`, () => {
    assert.equal(nearest(typed, WORDS), want);
  });
}
