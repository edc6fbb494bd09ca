/**
 * Shared by the verbs that change one secret: the env file that contains it, and what must run
 * before programs see the change.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { isHostOpKey } from "core/secrets/resolve.ts";
import type { SecretRef } from "core/secrets/shards.ts";
import { callerAgent } from "core/verbs/caller.ts";

/** Returns the env file that a secret is rendered into. */
export function envPath({ paths }: VerbContext, ref: SecretRef): string {
  if (ref.agent !== undefined) return paths.agentEnv(ref.agent);
  return isHostOpKey(ref.key) ? paths.hostOpKeys : paths.sharedEnv;
}

/** Names the shard of a secret for people. */
export function shardText(ref: SecretRef): string {
  return ref.agent === undefined ? "the shared shard" : `the shard of agent "${ref.agent}"`;
}

/**
 * Returns the commands after which programs see the new value: one updates files and units, the
 * other restarts an agent that has read the old value.
 */
export function laterLines({ target, caller }: VerbContext): readonly string[] {
  const own = target.kind === "agent" && target.agent === callerAgent(caller);
  const agent = target.kind !== "agent" ? "<agent>" : own ? "self" : target.agent;
  return [own ? "  fleetctl apply self" : "  fleetctl apply", `  fleetctl agents restart ${agent}`];
}
