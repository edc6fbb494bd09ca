/**
 * Keys that no MCP server receives, whichever agent owns it: those of fleetctl, and those with
 * which the agent's program accesses its model. With such a key, a server could spend in the
 * agent's name or sign as a role. No I/O. `units/render/mcp/closed_paths.ts` closes files of the
 * same kind.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRoleKey } from "core/secrets/resolve.ts";

const OWN = /^FLEETCTL_/;
const PROGRAMS = /^(?:ANTHROPIC|CLAUDE|OPENCODE|PI_CODING)_/;
const MODELS: ReadonlySet<string> = new Set(["OPENAI_API_KEY"]);

/** Describes the owner of a closed key; undefined for any other key. */
export function closedKey(name: string): string | undefined {
  if (OWN.test(name) || isRoleKey(name)) return "a key of fleetctl";
  return PROGRAMS.test(name) || MODELS.has(name) ? "a key of the agent's model" : undefined;
}

/** Refuses the first of these keys that is closed to MCP servers. */
export function checkServerKeys(names: readonly string[]): Result<void> {
  const found = names.find((name) => closedKey(name) !== undefined);
  if (found === undefined) return ok(undefined);
  return err(refusal(
    "key-closed",
    `Cannot let a server see "${found}": it is ${closedKey(found)}, must be a key of the server`,
    { kind: "usage", hints: ["fleetctl mcp catalog add --help"] },
  ));
}
