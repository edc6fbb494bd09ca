/**
 * The names of the tree's own `deno.json`, for a config that lies elsewhere.
 *
 * @module
 */

import { TREE } from "tests/support/module_graph.ts";
import { projectImports } from "units/render/permissions.ts";

/** Name → target; what is the tree's own by its whole address. */
export function importsOfTree(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(projectImports()).map(([name, target]) => [
      name,
      target.startsWith("./") ? `file://${TREE}${target.slice(2)}` : target,
    ]),
  );
}
