/**
 * `releaseMemory` in a separate process with the flags of the dial unit's launcher.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TREE } from "tests/support/module_graph.ts";

const MIB = 1024 * 1024;
const PROGRAM = `
import { releaseMemory } from "units/dial/os/release_memory.ts";
let lists = Array.from({ length: 64 }, (_, at) => new Array(${MIB / 8}).fill(at));
const full = Deno.memoryUsage().rss;
lists = undefined;
releaseMemory();
console.log(JSON.stringify({ full, after: Deno.memoryUsage().rss }));
`;

Deno.test("releaseMemory() returns memory that the program no longer uses", async () => {
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: [
      ..."run -q --no-check --allow-ffi --allow-read --v8-flags=--expose-gc --config".split(" "),
      `${TREE}deno.json`,
      `data:application/typescript,${encodeURIComponent(PROGRAM)}`,
    ],
    cwd: TREE,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  assert.ok(success);
  const { full, after } = JSON.parse(new TextDecoder().decode(stdout));
  assert.ok(after < full - 40 * MIB, `${full} → ${after} bytes`);
});
