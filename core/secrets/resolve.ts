/**
 * Resolves the value of a key for an agent: its own shard first, the shared shard as fallback.
 * Pure. Keys of the roles are never resolved or rendered for agents. The two host-operation keys
 * sign root executions, and anyone with `WEBVIEW_HMAC_KEY` can sign in as any user.
 *
 * @module
 */

import type { AgentName, KeyName } from "core/names.ts";
import { readSecret, type SecretShards } from "core/secrets/shards.ts";

/** The host-operation keys. Of the rendered files, only `paths.hostOpKeys` (0600) has them. */
export const HOST_OP_KEYS = ["FLEETCTL_HOST_OP_SECRET", "FLEETCTL_HOST_OP_GRANT_SECRET"] as const;
/** Keys of the gateway, the login proxy and the team-chat gateway. */
const ROLE_KEY = /^(?:WEBVIEW|TEAMS)_/;

/** A value, and the shard that it came from. */
export interface ResolvedSecret {
  readonly value: string;
  readonly from: "agent" | "shared";
}

/** Returns whether a key belongs to a role of the host. Agents never get such a key. */
export function isRoleKey(key: string): boolean {
  return ROLE_KEY.test(key) || isHostOpKey(key);
}

/** Returns whether a key is one of the two that sign root executions. */
export function isHostOpKey(key: string): boolean {
  return (HOST_OP_KEYS as readonly string[]).includes(key);
}

/** Resolves one key for an agent; undefined when neither shard has it. */
export function resolveKey(
  shards: SecretShards,
  agent: AgentName,
  key: KeyName,
): ResolvedSecret | undefined {
  if (isRoleKey(key)) return undefined;
  const own = readSecret(shards, { key, agent });
  if (own !== undefined) return { value: own, from: "agent" };
  const shared = readSecret(shards, { key });
  return shared === undefined ? undefined : { value: shared, from: "shared" };
}

/** Returns the keys that do not resolve, in the given order. */
export function unresolvedKeys(
  shards: SecretShards,
  agent: AgentName,
  keys: readonly KeyName[],
): readonly KeyName[] {
  return keys.filter((key) => resolveKey(shards, agent, key) === undefined);
}
