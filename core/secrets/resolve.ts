/**
 * Which value an agent gets for a key: its own shard first, the shared shard as fallback. Pure.
 * Keys of the roles are never an agent's: the two host-operation keys sign root executions, and
 * whoever holds `WEBVIEW_HMAC_KEY` can sign in as anybody, so they are neither resolved nor
 * rendered for agents.
 *
 * @module
 */

import type { AgentName, KeyName } from "core/names.ts";
import { readSecret, type SecretShards } from "core/secrets/shards.ts";

/** Keys that sign root executions; only `paths.hostOpKeys` holds them (0600 root:root). */
export const HOST_OP_KEYS = ["FLEETCTL_HOST_OP_SECRET", "FLEETCTL_HOST_OP_GRANT_SECRET"] as const;
/** Keys of the gateway, the login proxy and the team-chat gateway. */
const ROLE_KEY = /^(?:WEBVIEW|TEAMS)_/;

/** A value and the shard it came from. */
export interface ResolvedSecret {
  readonly value: string;
  readonly from: "agent" | "shared";
}

/** Returns whether a key belongs to a role of the host, and never to an agent. */
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

/** Returns the keys that do not resolve, in the order given. */
export function unresolvedKeys(
  shards: SecretShards,
  agent: AgentName,
  keys: readonly KeyName[],
): readonly KeyName[] {
  return keys.filter((key) => resolveKey(shards, agent, key) === undefined);
}
