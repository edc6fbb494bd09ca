/**
 * Diffs of a dry run, and the record of the rendered files.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { diffKeys, diffLines } from "units/reconcile/diff.ts";
import { EMPTY_RECORD, isSameRun, parseRecord, printRecord } from "units/reconcile/record.ts";

Deno.test("diffLines() shows changed lines only, in order", () => {
  assert.deepEqual(diffLines("a\nb\nc\n", "a\nx\nc\nd\n"), ["-b", "+x", "+d"]);
  assert.deepEqual(diffLines("", "a\n"), ["+a"]);
  assert.deepEqual(diffLines("a\n", "a\n"), []);
});

Deno.test("diffLines() bounds what it shows and what it compares", () => {
  const many = Array.from({ length: 500 }, (_, index) => `line ${index}\n`).join("");
  const shown = diffLines("", many);
  assert.equal(shown.length, 201);
  assert.equal(shown.at(-1), "(300 more lines)");
  assert.deepEqual(diffLines("", many.repeat(5)), ["(0 lines before, 2500 after)"]);
});

Deno.test("diffLines() contains exactly what turns one text into the other", () => {
  const texts = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 });
  fc.assert(fc.property(texts, texts, (before, after) => {
    const diff = diffLines(before.join("\n"), after.join("\n"));
    const gone = diff.filter((line) => line.startsWith("-")).length;
    const added = diff.filter((line) => line.startsWith("+")).length;
    assert.equal(before.length - gone, after.length - added);
  }));
});

Deno.test("diffKeys() names keys and never a value", () => {
  const diff = diffKeys("SAME=1\nGONE=secret\nOTHER=old\n", "SAME=1\nOTHER=new\nADDED=secret\n");
  assert.deepEqual(diff, ["+ADDED", "-GONE", "~OTHER"]);
});

Deno.test("parseRecord() reads back what printRecord() prints", () => {
  const record = {
    files: [{ path: "/etc/x", agent: "ada" }],
    clients: [{
      path: "/home/ada/c",
      agent: "ada",
      shape: "runtime-b" as const,
      at: ["mcpServers"],
      names: ["git"],
    }],
    units: { "a.service": { inputs: "1", softInputs: "2", stale: { pid: 1, since: 2 } } },
    isReloadDue: true,
  };
  assert.deepEqual(parseRecord(printRecord(record)), record);
  assert.deepEqual(parseRecord(printRecord(EMPTY_RECORD)), EMPTY_RECORD);
});

for (const text of ["", "{", "[]", "null", '{"format": 2}', '{"format": 1, "files": {}}']) {
  Deno.test(`parseRecord() treats ${JSON.stringify(text)} as no record`, () => {
    assert.equal(parseRecord(text), undefined);
  });
}

Deno.test("isSameRun() distinguishes runs of a unit", () => {
  const run = { pid: 1, since: 2 };
  assert.ok(isSameRun(run, { ...run }));
  assert.ok(!isSameRun(run, { pid: 1, since: 3 }));
  assert.ok(!isSameRun(undefined, run));
});
