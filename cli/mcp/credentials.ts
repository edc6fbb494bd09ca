/**
 * `mcp add` refuses an MCP while one of its required keys is missing. A key is looked up in the
 * agent's shard of the secret store, then in the shared shard. The server of a shared MCP runs for
 * every agent and reads only the shared env file. Its keys must therefore be in the shared shard,
 * which only an operator can write.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { refusal } from "core/errors.ts";
import type { AgentName, KeyName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { unresolvedKeys } from "core/secrets/resolve.ts";
import { readSecret, type SecretShards } from "core/secrets/shards.ts";

/** Returns the required keys that the MCP's server would lack, in the order of the manifest. */
export function missingKeys(
  shards: SecretShards,
  agent: AgentName,
  manifest: Manifest,
): readonly KeyName[] {
  const missing = unresolvedKeys(shards, agent, manifest.requiredEnv);
  if (manifest.sharing !== "shared") return missing;
  return manifest.requiredEnv.filter((key) =>
    missing.includes(key) || readSecret(shards, { key }) === undefined
  );
}

/** Refuses with one `secret set` line per missing key. */
export function checkCredentials(
  shards: SecretShards,
  agent: AgentName,
  manifest: Manifest,
): Result<void> {
  const missing = missingKeys(shards, agent, manifest);
  if (missing.length === 0) return ok(undefined);
  const isShared = manifest.sharing === "shared";
  const count = missing.length === 1 ? "1 required key is" : `${missing.length} required keys are`;
  return err(refusal(
    "keys-unresolved",
    `Cannot add MCP "${manifest.name}" to agent "${agent}": ${count} not set`,
    {
      details: isShared
        ? ["Its server serves every agent of this host, so an operator sets its keys once."]
        : [],
      hints: missing.map((key) =>
        `fleetctl secret set ${key}${isShared ? "" : ` --agent ${agent}`}`
      ),
    },
  ));
}
