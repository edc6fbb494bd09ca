/**
 * Checks that every reference to a document, a heading, a decision or a source file has a target,
 * in documents and in the comments and messages of the code.
 *
 * @module
 */

import assert from "node:assert/strict";
import { anchorsOf, deadLinks, type TreeView } from "tests/support/links.ts";
import { TREE, treeFiles } from "tests/support/module_graph.ts";

/** Third-party texts, and texts with references that the tests look for. */
const LEFT_OUT = /^(core\/catalog\/shipped\/|tests\/(golden|vectors)\/|tests\/support\/links)/;

Deno.test("links and mentions of documents, decisions and files lead somewhere", async () => {
  const present = await treeFiles("");
  const texts = present.filter((file) =>
    !LEFT_OUT.test(file) && /\.(md|ts|tsx|sh|pl|yaml|css)$|^dev$|^deno\.json$/.test(file)
  );
  const read = new Map(
    await Promise.all(
      texts.map(async (file) => [file, await Deno.readTextFile(TREE + file)] as const),
    ),
  );
  const anchors = new Map<string, ReadonlySet<string>>();
  const tree: TreeView = {
    files: new Set(present),
    anchors: (file) => anchors.getOrInsertComputed(file, () => anchorsOf(read.get(file) ?? "")),
  };
  const faults = [...read].flatMap(([file, text]) => deadLinks(file, text, tree));
  assert.deepEqual(faults, []);
});

Deno.test("each kind of a dead reference is found, and none is made up", () => {
  const page = "# Page\n\n## The way, in short\n\n```sh\n# no heading\n```\n";
  const tree: TreeView = {
    files: new Set(["docs/page.md", "docs/adr/0001-one.md", "core/one.ts"]),
    anchors: () => anchorsOf(page),
  };
  const rows: readonly [string, string, number][] = [
    ["docs/a.md", "[a](page.md#the-way-in-short) [b](../core/one.ts) [c](adr/)", 0],
    ["docs/page.md", "[d](#page) [e](https://example.org/docs/none.md)", 0],
    ["docs/a.md", "[a](pages.md)", 1],
    ["docs/a.md", "[a](page.md#no-heading)", 1],
    ["docs/a.md", "`core/one.ts` and `core/verb_x.ts`", 0],
    ["docs/a.md", "`core/two.ts`", 1],
    ["docs/a.md", "`deno test -A tests/one_test.ts`", 1],
    ["core/one.ts", "// HACKING.md, README.md#none", 1],
    ["core/one.ts", "// see docs/page.md#the-way-in-short.", 0],
    ["core/one.ts", "// see docs/page.md#a-way", 1],
    ["core/one.ts", '/**\n * (docs/page.md,\n * "The way")\n */', 1],
    ["core/one.ts", "// docs/adr/0001-one.md and ADR 0001, in docs/ and docs/adr/", 0],
    ["core/one.ts", "// docs/adr/0001", 1],
    ["core/one.ts", "// ADR\n// 0002", 1],
    ["core/one.ts", "// `core/two.ts`", 1],
    ["core/one.ts", "const at = `${TREE}docs/none.md`;", 1],
  ];
  for (const [file, text, wanted] of rows) {
    const found = deadLinks(file, text, tree);
    assert.equal(found.length, wanted, `${text}: ${found.join("; ")}`);
  }
});
