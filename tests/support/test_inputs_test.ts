/**
 * Checks which changes affect the input hash of a test file, and which do not.
 *
 * @module
 */

import assert from "node:assert/strict";
import { inputHashes, type TreeState } from "tests/support/test_inputs.ts";

const TESTS = ["tests/a", "tests/page"];

/** A tree with two tests: one imports `core/one`, the other reads files of the tree. */
function state(changed: Readonly<Record<string, string>> = {}): TreeState {
  const edges = [
    { from: "tests/a", to: "core/one" },
    { from: "core/one", to: "core/leaf" },
    { from: "tests/page", to: "tests/reader" },
  ];
  const files = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const others = ["page.md", "core/two", "deno.json", "deno.lock", "gateway/web/deno.json"];
  const same = Object.fromEntries([...files, ...others].map((path) => [path, "1"]));
  return {
    graph: { files, edges },
    hashes: { ...same, ...changed },
    finders: new Set(["tests/reader"]),
  };
}

const before = await inputHashes(TESTS, state());

for (
  const [changed, which] of [
    ["tests/a", TESTS],
    ["core/one", TESTS],
    ["core/leaf", TESTS],
    ["deno.lock", TESTS],
    ["page.md", ["tests/page"]],
    ["core/two", ["tests/page"]],
    ["new.ts", ["tests/page"]],
  ] as const
) {
  Deno.test(`inputHashes() sees a change of ${changed} for ${which.join(" and ")}`, async () => {
    const after = await inputHashes(TESTS, state({ [changed]: "2" }));
    assert.deepEqual(TESTS.filter((test) => after[test] !== before[test]), which);
  });
}
