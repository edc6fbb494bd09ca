/**
 * `fleetctl host key list`: the dial keys of hosts in the ledger, with this host's own key marked.
 * Changes nothing.
 *
 * @module
 */

import { readHostDialKey } from "cli/host_dial.ts";
import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import type { HostRecord } from "core/ledger/host_shard.ts";
import { readHosts } from "core/ledger/hosts.ts";
import { ok, type Result } from "core/result.ts";

/** The verb has no options. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: there are none. */
export function parseOptions(): Result<Options> {
  return ok({});
}

/** Reads the ledger and the key of this host. */
export async function run(context: VerbContext): Promise<Result<VerbReport>> {
  const { files, hostname } = context.ports;
  const ledger = await readHosts(files, context.paths);
  if (!ledger.ok) return ledger;
  const own = await readHostDialKey(files, context.paths);
  const ownKey = own.ok ? own.value : undefined;
  const hosts = [...ledger.value.hosts.values()];
  return ok({
    json: {
      hostname,
      own_key: ownKey ?? null,
      hosts: hosts.map(({ name, dialKeys }) => ({ host: name, keys: dialKeys ?? [] })),
    },
    blocks: [{
      kind: "table",
      columns: ["host", "state", "key"],
      rows: hosts.flatMap((host) => rowsOf(host, ownKey)),
      empty: "No host has a dial key yet; fleetctl apply creates the key of this host",
    }],
    faults: [...ledger.value.faults, ...(own.ok ? [] : [own.error])],
  });
}

function rowsOf({ name, dialKeys }: HostRecord, ownKey: string | undefined) {
  if (dialKeys === undefined) return [];
  if (dialKeys.length === 0) {
    const text = `fleetctl host key enroll ${name} <key>`;
    return [[name, { text: "revoked", tone: "warn" }, { text, tone: "dim" }] satisfies Cell[]];
  }
  return dialKeys.map((key): readonly Cell[] => [
    name,
    key === ownKey ? "enrolled, this host's own" : "enrolled",
    key,
  ]);
}
