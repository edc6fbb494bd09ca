/**
 * Keys that no MCP server sees, whoever asks for it: those of fleetctl, and those with which the
 * agent's own program reaches its model. A server that had one could spend in the agent's name, or
 * sign as a role. No I/O. Files of the same kind are closed by `units/render/mcp/closed_paths.ts`.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRoleKey } from "core/secrets/resolve.ts";

const OWN = /^FLEETCTL_/;
const PROGRAMS = /^(?:ANTHROPIC|CLAUDE|OPENCODE|PI_CODING)_/;
const MODELS: ReadonlySet<string> = new Set(["OPENAI_API_KEY"]);

/** Returns whose a key is that no MCP server sees; undefined for any other. */
export function closedKey(name: string): string | undefined {
  if (OWN.test(name) || isRoleKey(name)) return "a key of fleetctl";
  return PROGRAMS.test(name) || MODELS.has(name) ? "a key of the agent's model" : undefined;
}

/** Refuses the first of these keys that no MCP server sees. */
export function checkServerKeys(names: readonly string[]): Result<void> {
  const found = names.find((name) => closedKey(name) !== undefined);
  if (found === undefined) return ok(undefined);
  return err(refusal(
    "key-closed",
    `Cannot let a server see "${found}": it is ${closedKey(found)}, must be a key of the server`,
    { kind: "usage", hints: ["fleetctl mcp catalog add --help"] },
  ));
}
