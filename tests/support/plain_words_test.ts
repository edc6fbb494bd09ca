/**
 * The lint rule `tree/words`: which texts it reads, and which words it finds.
 *
 * @module
 */

import assert from "node:assert/strict";
import plugin from "tests/support/lint_plugin.ts";
import { TREE } from "tests/support/module_graph.ts";

/** File, code, and the number of reports. */
const ROWS: readonly (readonly [string, string, number])[] = [
  ["cli/x.ts", "// Somebody is told.", 2],
  ["cli/x.ts", "/** A folder of its own; files of its own user. */", 1],
  ["cli/x.ts", "// Runs as `nobody`.", 0],
  ["cli/x.ts", "// The two cannot be told apart.", 0],
  ["cli/x.ts", 'export const a = "nobody";', 0],
  ["cli/x.ts", 'export const a = "nobody answers";', 1],
  ["cli/x.ts", "export const a = (b: 1) => `made anew by ${b}`;", 1],
  ["tests/x.ts", 'export const a = "nobody answers";', 0],
  ["tests/x.ts", "// Nobody answers.", 1],
];

Deno.test("the lint rule on words reads comments, and texts of the product", () => {
  for (const [file, code, wanted] of ROWS) {
    const fixture = `/** Fixture.\n * @module\n */\n${code}\n`;
    const found = Deno.lint.runPlugin(plugin, `${TREE}${file}`, fixture)
      .filter(({ id }) => id === "tree/words");
    assert.equal(found.length, wanted, code);
  }
});
