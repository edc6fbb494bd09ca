/**
 * Runs the test files that are named after `--` in one isolate: `deno test … test_part.ts --
 * a_test.ts`. For `./dev check` alone, where starting an isolate for each file takes longer than
 * its tests; `./dev test` gives each file its own.
 *
 * @module
 */

import { TREE } from "tests/support/module_graph.ts";

for (const file of Deno.args) await import(`file://${TREE}${file}`);
