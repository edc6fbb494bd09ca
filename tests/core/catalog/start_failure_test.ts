/**
 * The message shown for a server that could not be tried out.
 *
 * @module
 */

import assert from "node:assert/strict";
import { lastLines, missingAddon } from "core/catalog/start_failure.ts";

Deno.test("lastLines() returns a bounded end of the output, without control characters", () => {
  const many = Array.from({ length: 40 }, (_, at) => `line ${at}`).join("\n");
  assert.deepEqual([lastLines(many).length, lastLines(many).at(-1)], [12, "line 39"]);
  assert.deepEqual(lastLines("\u001b[31mred\u001b[0m\r\n\n  \nbell\u0007 \u202eback"), [
    "\\u{1b}[31mred\\u{1b}[0m",
    "bell\\u{7} \\u{202e}back",
  ]);
  assert.equal(lastLines("x".repeat(1000))[0]?.length, 300);
  assert.deepEqual(lastLines(""), []);
});

const ADDONS: readonly (readonly [string, RegExp | undefined])[] = [
  [
    "Error: Could not locate the bindings file. Tried:\n → better_sqlite3.node",
    /better_sqlite3\.node/,
  ],
  ["Error: Cannot find module './build/Release/canvas.node'", /\(canvas\.node\)/],
  ["Error: Cannot find native binding. npm has a bug", /^it needs a native addon, and/],
  ['Could not load the "sharp" module using the linux-x64 runtime', /^it needs a native addon/],
  [
    'NotCapable: Requires ffi access to "/x/y.node"',
    /\(y\.node\), which Deno does not allow here; use --engine node/,
  ],
  ["TypeError: x is not a function", undefined],
  ["loaded settings.node from disk", undefined],
];
for (const [text, want] of ADDONS) {
  Deno.test(`missingAddon() of ${JSON.stringify(text.slice(0, 50))}`, () => {
    const found = missingAddon(text);
    if (want === undefined) assert.equal(found, undefined);
    else assert.match(found ?? "", want);
  });
}
