/**
 * Invalid names from many clients: memory is bounded, and other clients do not wait. Runs in a
 * separate process, which can collect garbage before it measures memory. 200,000 names, or
 * `FLEETCTL_ROUNDS`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TREE } from "tests/support/module_graph.ts";

const MIB = 1024 * 1024;
const NAMES = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 200_000);
const PROGRAM = `
import { createAttempts } from "login/basic/attempts.ts";
const attempts = createAttempts({ monotonic: () => 0 }, (name) => name === "mia");
const heap = () => {
  globalThis.gc();
  return Deno.memoryUsage().heapUsed;
};
const before = heap();
for (let count = 0; count < ${NAMES}; count++) {
  attempts.begin(["4/" + (count >> 16) + "." + (count & 0xffff)], "name-" + count + "@example.org");
}
const grown = heap() - before;
const mia = "forgive" in attempts.begin(["home"], "mia");
console.log(JSON.stringify({ grown, mia, size: attempts.size() }));
`;

Deno.test("bogus names cost at most 32 MB, and delay no other caller", async () => {
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: [
      ..."run -q --no-check --v8-flags=--expose-gc --config".split(" "),
      `${TREE}deno.json`,
      `data:application/typescript,${encodeURIComponent(PROGRAM)}`,
    ],
    cwd: TREE,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).output();
  assert.ok(success);
  const { grown, mia } = JSON.parse(new TextDecoder().decode(stdout));
  assert.ok(grown < 32 * MIB, `${grown} bytes`);
  assert.equal(mia, true);
});
