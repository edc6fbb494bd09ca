/**
 * Every hint in the source can be pasted: it opens with a program, not with advice, and holds no
 * `<placeholder>`, which a shell takes for a file to read.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TREE } from "tests/support/module_graph.ts";

/** Words that advice opens with. */
const ADVICE = /^(?:edit|see|run|ask|use|try|add|set|remove|check|make|put|write|open) /i;
const PLACEHOLDER = /<[A-Za-z][^>]*>/;

async function* sources(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* sources(path);
    else if (/\.tsx?$/.test(name)) yield path;
  }
}

/** The strings of each `hints: [...]`; what is in `${}` is no text of ours. */
function hintsIn(source: string): readonly string[] {
  return [...source.matchAll(/\bhints: (?:[^[\n]*\? )?\[([^;]*?)\](?=[,\s})])/g)].flatMap((
    [, list],
  ) =>
    [...(list ?? "").matchAll(/"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`|'((?:[^'\\]|\\.)*)'/g)].map(
      ([, a, b, c]) => (a ?? b ?? c ?? "").replace(/\$\{[^}]*\}/g, "x"),
    )
  );
}

Deno.test("every hint is a command that can be pasted", async () => {
  const bad: string[] = [];
  let seen = 0;
  for (const part of ["cli", "core", "gateway", "login", "teamchat", "units"]) {
    for await (const path of sources(TREE + part)) {
      for (const hint of hintsIn(await Deno.readTextFile(path))) {
        seen++;
        if (ADVICE.test(hint) || PLACEHOLDER.test(hint)) bad.push(`${path}: ${hint}`);
      }
    }
  }
  assert.ok(seen > 200, `${seen} hints were found`);
  assert.deepEqual(bad, []);
});
