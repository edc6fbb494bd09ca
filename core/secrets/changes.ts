/**
 * Finds the last commit that changed a secret, from the subjects of the store's commits. Pure.
 *
 * @module
 */

import type { LedgerEntry } from "core/ledger/history.ts";
import { ROLE_KEYS } from "core/secrets/init.ts";
import { HOST_OP_KEYS } from "core/secrets/resolve.ts";
import type { SecretRef } from "core/secrets/shards.ts";

const PLACED = /: ([A-Z][A-Z0-9_]*) (?:in the shared shard|of agent "([a-z][a-z0-9-]*)")$/;
const ROTATED = /: the host-op keys$/;
/** The commit that created the store, or added missing keys to it. */
const MADE = /: secrets of host "[^"]*"$/;

/** Returns a function that maps a secret to its newest change in the given history. */
export function lastChanges(
  newestFirst: readonly LedgerEntry[],
): (ref: SecretRef) => LedgerEntry | undefined {
  const found = new Map<string, LedgerEntry>();
  let made: LedgerEntry | undefined;
  for (const entry of newestFirst) {
    const [, key, agent] = PLACED.exec(entry.subject) ?? [];
    if (key !== undefined) remember(found, refKey(key, agent), entry);
    else if (ROTATED.test(entry.subject)) {
      for (const each of HOST_OP_KEYS) remember(found, refKey(each, undefined), entry);
    } else if (MADE.test(entry.subject)) made = entry;
  }
  return ({ key, agent }) => {
    const placed = found.get(refKey(key, agent));
    if (placed !== undefined || agent !== undefined) return placed;
    return (ROLE_KEYS as readonly string[]).includes(key) ? made : undefined;
  };
}

function refKey(key: string, agent: string | undefined): string {
  return `${agent ?? ""} ${key}`;
}

function remember(found: Map<string, LedgerEntry>, key: string, entry: LedgerEntry): void {
  if (!found.has(key)) found.set(key, entry);
}
