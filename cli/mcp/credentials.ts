/**
 * The credential gate of `mcp add`: refused unless each required key resolves for the agent, its
 * own shard first, the shared one as fallback. Where a missing key belongs is what the manifest
 * says: keys of `user_env` in the agent's shard, others where they already are for everybody.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { unresolvedKeys } from "core/secrets/resolve.ts";
import type { SecretShards } from "core/secrets/shards.ts";

/** Refuses with one `secret set` line per missing key. */
export function checkCredentials(
  shards: SecretShards,
  agent: AgentName,
  manifest: Manifest,
): Result<void> {
  const missing = unresolvedKeys(shards, agent, manifest.requiredEnv);
  if (missing.length === 0) return ok(undefined);
  const isShared = manifest.sharing === "shared";
  const count = missing.length === 1 ? "1 required key does" : `${missing.length} required keys do`;
  return err(refusal(
    "keys-unresolved",
    `Cannot add MCP "${manifest.name}" to agent "${agent}": ${count} not resolve`,
    {
      hints: missing.map((key) =>
        `fleetctl secret set ${key} --value <value>` +
        (isShared && !manifest.userEnv.includes(key) ? "" : ` --agent ${agent}`)
      ),
    },
  ));
}
