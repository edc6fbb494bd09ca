/**
 * Fallback for hosts whose file cannot be read: each keeps the record of its newest readable
 * commit, and its fault names that commit. Reads git only if there is a fault; writes nothing.
 *
 * @module
 */

import type { LedgerPorts } from "core/ledger/git.ts";
import { type HostRecord, parseHostShard } from "core/ledger/host_shard.ts";
import type { HostLedger } from "core/ledger/hosts.ts";
import { lastGood } from "core/ledger/last_good.ts";
import { fallbackFault } from "core/ledger/ledger.ts";
import type { HostName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { ok, type Result } from "core/result.ts";

/** Adds the last readable records of hosts whose files cannot be read. */
export async function withFallbackHosts(
  ports: LedgerPorts,
  paths: Paths,
  ledger: HostLedger,
): Promise<Result<HostLedger>> {
  if (ledger.unreadable.size === 0) return ok(ledger);
  const hosts = new Map<HostName, HostRecord>(ledger.hosts);
  const unreadable = new Map(ledger.unreadable);
  for (const [name, fault] of ledger.unreadable) {
    const hostFile = { file: `hosts.d/${name}.yaml`, path: paths.hostShard(name) };
    const found = await lastGood(ports, paths, {
      name: hostFile.file,
      read: (files) => parseHostShard(files.get(hostFile.file), name, hostFile),
    });
    if (!found.ok) return found;
    if (found.value.kind !== "good") continue;
    hosts.set(name, found.value.value);
    unreadable.set(name, fallbackFault(fault, `host "${name}"`, found.value.commit));
  }
  const changed = new Map([...ledger.unreadable].map(([name, fault]) => [
    fault,
    unreadable.get(name) ?? fault,
  ]));
  const faults = ledger.faults.map((fault) => changed.get(fault) ?? fault);
  return ok({ hosts: new Map([...hosts].sort(byName)), faults, unreadable });
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
