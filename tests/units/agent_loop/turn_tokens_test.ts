/**
 * The tokens of a turn are counted under the model that answered.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TokenSum } from "units/agent_loop/turn/turn_tokens.ts";

const tokens = (input: number) => ({ input, output: 1, cachedRead: 0, cachedWrite: 0 });

Deno.test("TokenSum adds up the answers of each model", () => {
  const sum = new TokenSum();
  assert.equal(sum.total(), undefined);
  // Stored answers of an earlier process, before the model is known.
  sum.add(tokens(1));
  sum.add(tokens(2), "other");
  sum.use("first");
  sum.add(tokens(4));
  sum.use("other");
  sum.add(tokens(8));
  assert.deepEqual(sum.total(), {
    ...tokens(15),
    output: 4,
    model: "other",
    models: [
      { model: "other", ...tokens(10), output: 2 },
      { model: "first", ...tokens(5), output: 2 },
    ],
    isPartial: false,
  });
  sum.add(undefined);
  assert.equal(sum.total()?.isPartial, true);
});
