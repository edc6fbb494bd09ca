/**
 * Runs the test files after `--` in one isolate: `deno test … test_part.ts -- a_test.ts`. Only for
 * `./dev check`, where starting an isolate per file takes longer than its tests. `./dev test` gives
 * each file a separate isolate.
 *
 * @module
 */

import { TREE } from "tests/support/module_graph.ts";

for (const file of Deno.args) await import(`file://${TREE}${file}`);
