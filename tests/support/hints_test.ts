/**
 * Checks that every hint in the source can be pasted: it starts with a program, not with advice. It
 * contains no `<placeholder>`, which a shell would treat as an input file.
 *
 * @module
 */

import assert from "node:assert/strict";
import { hintsOfSource, sourcesIn } from "tests/support/hints.ts";
import { TREE } from "tests/support/module_graph.ts";

/** Words that start a piece of advice. */
const ADVICE = /^(?:edit|see|run|ask|use|try|add|set|remove|check|make|put|write|open) /i;
const PLACEHOLDER = /<[A-Za-z][^>]*>/;

Deno.test("every hint is a command that can be pasted", async () => {
  const bad: string[] = [];
  let seen = 0;
  for (const part of ["cli", "core", "gateway", "login", "teamchat", "units"]) {
    for await (const path of sourcesIn(TREE + part)) {
      for (const hint of hintsOfSource(await Deno.readTextFile(path))) {
        seen++;
        if (ADVICE.test(hint) || PLACEHOLDER.test(hint)) bad.push(`${path}: ${hint}`);
      }
    }
  }
  assert.ok(seen > 200, `${seen} hints were found`);
  assert.deepEqual(bad, []);
});
