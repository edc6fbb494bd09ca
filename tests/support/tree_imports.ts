/**
 * The import names of the tree's `deno.json`, for a config in another location.
 *
 * @module
 */

import { TREE } from "tests/support/module_graph.ts";
import { projectImports } from "units/render/permissions.ts";

/** Returns name → target; targets inside the tree are absolute URLs. */
export function importsOfTree(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(projectImports()).map(([name, target]) => [
      name,
      target.startsWith("./") ? `file://${TREE}${target.slice(2)}` : target,
    ]),
  );
}
