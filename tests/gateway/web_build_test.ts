/**
 * Tests of the inputs of the page build.
 *
 * @module
 */

import assert from "node:assert/strict";
import { sourceFiles } from "gateway/web_build/main.ts";

Deno.test("the page is built again when a file changes that it shares with others", async () => {
  const tree = new URL("../../", import.meta.url).pathname;
  const files = (await sourceFiles()).map((path) => path.slice(tree.length));
  for (const file of ["gateway/web/main.ts", "gateway/web/style/base.css", "core/defined.ts"]) {
    assert.ok(files.includes(file), file);
  }
});
