/**
 * Checks the form of the documents: decisions of one page with the same four parts, and lines and
 * sentences of readable length.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TREE, treeFiles } from "tests/support/module_graph.ts";
import { privateWords } from "tests/support/plain_words.ts";
import { sentencesOf } from "tests/support/sentences.ts";

/** The parts of a decision, in this order. */
const PARTS = ["Decision", "Reason", "Price", "Alternatives"] as const;
/** Maximum number of lines of a one-page document. */
const PAGE_LINES = 45;
const README_LINES = 150;
const LINE_CHARACTERS = 200;
const SENTENCE_WORDS = 35;

const documents = (await treeFiles(".md")).filter((file) =>
  file === "HACKING.md" || file === "README.md" || file.startsWith("docs/")
);

Deno.test("a decision is one page: Decision, Reason, Price, Alternatives", async () => {
  const decisions = documents.filter((file) => file.startsWith("docs/adr/"));
  const numbers = decisions.map((file) => /^docs\/adr\/(\d{4})-[a-z0-9-]+\.md$/.exec(file)?.[1]);
  assert.equal(new Set(numbers).size, decisions.length, "each has a number to itself");
  for (const file of decisions) {
    const text = await Deno.readTextFile(TREE + file);
    const parts = text.split(/^## /m).slice(1);
    assert.deepEqual(parts.map((part) => part.split("\n", 1)[0]), PARTS, file);
    for (const part of parts) {
      const [heading, ...lines] = part.split("\n");
      assert.ok(lines.join("").length > 40, `${file}: ${heading} says nothing`);
    }
    assert.match(text, /^# \d{4} \S/, `${file} begins with number and title`);
    const lines = text.split("\n").length - 1;
    assert.ok(lines <= PAGE_LINES, `${file} has ${lines} lines, at most ${PAGE_LINES}`);
  }
});

Deno.test("README.md is short and shows the page", async () => {
  const text = await Deno.readTextFile(`${TREE}README.md`);
  const lines = text.split("\n").length - 1;
  assert.ok(lines <= README_LINES, `${lines} lines, at most ${README_LINES}`);
  const [, picture = ""] = /^!\[[^\]]{20,}\]\(([^)]+\.png)\)$/m.exec(text) ?? [];
  assert.ok((await Deno.stat(TREE + picture)).isFile);
});

Deno.test("no line of a document is longer than a screen, tables and code aside", async () => {
  const long: string[] = [];
  for (const file of documents) {
    const text = (await Deno.readTextFile(TREE + file)).replace(
      /^```[\s\S]*?^```/gm,
      (code) => code.replace(/.+/g, ""),
    );
    text.split("\n").forEach((line, at) => {
      if (line.length > LINE_CHARACTERS && !line.trimStart().startsWith("|")) {
        long.push(`${file}:${at + 1} has ${line.length} characters`);
      }
    });
  }
  assert.deepEqual(long, []);
});

Deno.test("no sentence of a document is too long", async () => {
  const long: string[] = [];
  for (const file of documents.filter((one) => one !== "docs/errors.md")) {
    for (const words of sentencesOf(await Deno.readTextFile(TREE + file))) {
      if (words.length <= SENTENCE_WORDS) continue;
      long.push(`${file}: ${words.length} words: ${words.join(" ")}`);
    }
  }
  assert.deepEqual(long, [], `at most ${SENTENCE_WORDS} words`);
});

Deno.test("documents use plain words", async () => {
  const found: string[] = [];
  for (const file of documents.filter((one) => one !== "docs/errors.md")) {
    const text = await Deno.readTextFile(TREE + file);
    text.split("\n").forEach((line, at) => {
      // The glossary names the words.
      if (file === "HACKING.md" && line.startsWith("|")) return;
      // An anchor keeps its name for the links of others.
      for (const word of privateWords(line.replace(/\(\S*#[\w-]+\)/g, ""))) {
        found.push(`${file}:${at + 1} "${word.found}", write ${word.use}`);
      }
    });
  }
  assert.deepEqual(found, []);
});

Deno.test("sentencesOf() splits text at sentences, list items, cells and code", () => {
  const rows: readonly [string, readonly number[]][] = [
    ["One two.\nThree four\nfive. Six", [2, 3, 1]],
    ["- one two\n- three", [2, 1]],
    ["| one two | three |\n|---|---|", [2, 1]],
    ["# A heading\n\nOne [two three](page.md#a-b) (not. counted) four.", [4]],
    ["One: two three.\n\n```sh\nnot a word\n```", [1, 2]],
  ];
  for (const [text, wanted] of rows) {
    assert.deepEqual(sentencesOf(text).map((words) => words.length), wanted, text);
  }
});

Deno.test("the numbers of docs/design.md are those of the source", async () => {
  const text = await Deno.readTextFile(`${TREE}docs/design.md`);
  const rows = text.split("\n### Numbers\n")[1]?.split("\n## ")[0]?.split("\n") ?? [];
  const found: string[] = [];
  for (const row of rows.filter((line) => line.includes("_LIMITS."))) {
    const [, , values = "", names = "", file = ""] = row.split("|");
    const source: Record<string, Record<string, unknown>> = await import(
      `${TREE}${file.trim().replaceAll("`", "")}`
    );
    for (const [at, name] of names.trim().replaceAll("`", "").split(", ").entries()) {
      const [table = "", key = ""] = name.split(".");
      const wanted = source[table]?.[key];
      const documented = Number(values.split(",")[at]);
      if (documented !== wanted) found.push(`${name} is ${wanted}, the page says ${documented}`);
    }
  }
  assert.deepEqual(found, []);
  assert.ok(rows.length > 10, "the table is there");
});
