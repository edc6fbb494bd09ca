/**
 * Which line of stderr an error shows.
 *
 * @module
 */

import assert from "node:assert/strict";
import { explainingLine } from "core/text/stderr_summary.ts";

const ROWS: readonly (readonly [string, string | undefined])[] = [
  ["error: no such socket", "error: no such socket"],
  ["  \u001b[1m\u001b[31merror\u001b[0m: red  ", "error: red"],
  ["    at main (file:///x.js:1:1)", undefined],
  ["\u001b[0m    at \u001b[36mfile:///x.js\u001b[0m:1", undefined],
  ["        ^^^", undefined],
  ["Node.js v22.23.3", undefined],
  ["}", undefined],
  ["Stack backtrace:", undefined],
  ["   7: <unknown>", undefined],
  ["  12: core::ops::function::FnOnce::call_once", undefined],
  ["   3:     0x55d1c2 - <T as std::fmt::Display>::fmt", undefined],
  ["   9: main", undefined],
  ["    0: the disk is full", "0: the disk is full"],
  ["", undefined],
  ["x".repeat(900), "x".repeat(500)],
  ["a\u0007b", "a b"],
  ['{"at":"…","level":"info","program":"fleetctl-runtime","event":"call"}', undefined],
  ['{"level":"debug","event":"call"}', undefined],
  ['{"level":"warning","event":"slow disk"}', "slow disk"],
  ['{"level":"error","event":"not stored","error":"it is full"}', "not stored: it is full"],
  ['{"error":"no such model"}', '{"error":"no such model"}'],
  ["{broken", "{broken"],
];
for (const [line, wanted] of ROWS) {
  Deno.test(`explainingLine() of ${JSON.stringify(line).slice(0, 40)}`, () => {
    assert.equal(explainingLine(line), wanted);
  });
}
