/**
 * Commits read out of tool results.
 *
 * @module
 */

import assert from "node:assert/strict";
import { printCommit } from "units/agent_loop/demo/commit.ts";

Deno.test("printCommit() prints the commit from the output of git log", () => {
  const text = [
    "commit 89abcdef0123456789abcdef0123456789abcdef",
    "Author: Mia <mia@example.org>",
    "Date:   Thu Jan 1 00:00:00 2026 +0000",
    "",
    "    core: add things",
  ].join("\n");
  assert.equal(
    printCommit(text),
    "- commit: 89abcdef0123456789abcdef0123456789abcdef\n- subject: core: add things\n" +
      "- author: Mia <mia@example.org>\n- date: Thu Jan 1 00:00:00 2026 +0000",
  );
});

Deno.test("printCommit() returns undefined for other text", () => {
  for (
    const text of ["", "no commits", "{}", '{"commits":[]}', '{"commits":[{"hash":"a"}]}', "[]"]
  ) {
    assert.equal(printCommit(text), undefined, text);
  }
});

Deno.test("printCommit() uses the first line of a message and a nested author", () => {
  const commits = [{ sha: "abc1234", message: "one\n\ntwo", author: { name: "Mia" } }];
  assert.equal(
    printCommit(JSON.stringify(commits)),
    "- commit: abc1234\n- subject: one\n- author: Mia",
  );
});
