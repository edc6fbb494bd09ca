/**
 * Fallback for agents whose shard cannot be read: each keeps the record of its newest readable
 * commit, and its fault names that commit. Reads git only if there is a fault; writes nothing.
 *
 * @module
 */

import type { LedgerPorts } from "core/ledger/git.ts";
import { lastGood } from "core/ledger/last_good.ts";
import { type FallbackAgent, type Ledger, readLedger, withFallback } from "core/ledger/ledger.ts";
import { parseShard, shardFile } from "core/ledger/shard.ts";
import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { ok, type Result } from "core/result.ts";

/** Reads all shards; an unreadable one is replaced by its last readable version. */
export async function readLedgerWithFallback(
  ports: LedgerPorts,
  paths: Paths,
): Promise<Result<Ledger>> {
  const ledger = await readLedger(ports.files, paths);
  return ledger.ok ? await addFallback(ports, paths, ledger.value) : ledger;
}

/** Adds the last readable records of agents whose shards cannot be read. */
async function addFallback(
  ports: LedgerPorts,
  paths: Paths,
  ledger: Ledger,
): Promise<Result<Ledger>> {
  const fallbacks = new Map<AgentName, FallbackAgent>();
  for (const name of ledger.unreadable.keys()) {
    const file = shardFile(name);
    const found = await lastGood(ports, paths, {
      name: file,
      read: (files) => parseShard(files.get(file) ?? "", file),
    });
    if (!found.ok) return found;
    const { value } = found;
    if (value.kind === "good") fallbacks.set(name, { record: value.value, commit: value.commit });
  }
  return ok(withFallback(ledger, fallbacks, paths.agentShard));
}
