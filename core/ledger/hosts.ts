/**
 * Hosts of the fleet in the ledger, `hosts.d/<hostname>.yaml`: the dial keys that each host's own
 * unit may prove. A host has no e-mail address to check a first proof against. So root of that host
 * or an operator enrolls its key; proving a key never enrolls it.
 *
 * @module
 */

import type { LedgerAuthor } from "core/ledger/agents.ts";
import { fileRefusal } from "core/ledger/file_refusal.ts";
import { brokenHostFile, type HostRecord, parseHostShard } from "core/ledger/host_shard.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { commitChange, type Committed } from "core/ledger/repository.ts";
import { type HostName, parseHostName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import type { Refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { editYaml } from "core/text/yaml.ts";

/** Most enrolled keys of one host: the one in use and its replacements. */
export const HOST_KEYS_MAX = 4;

/** The readable hosts in order of their names, and the faults of the others. */
export interface HostLedger {
  readonly hosts: ReadonlyMap<HostName, HostRecord>;
  readonly faults: readonly Refusal[];
  /** Hosts whose file cannot be read, and the reason. */
  readonly unreadable: ReadonlyMap<HostName, Refusal>;
}

/** Reads all hosts; an unreadable one hides no other. */
export async function readHosts(
  files: Pick<Files, "list" | "readText">,
  paths: Paths,
): Promise<Result<HostLedger>> {
  const hosts = new Map<HostName, HostRecord>();
  const faults: Refusal[] = [];
  const unreadable = new Map<HostName, Refusal>();
  try {
    for (const entry of [...await files.list(paths.hostsDir)].sort()) {
      if (!entry.endsWith(".yaml") || entry.startsWith(".")) continue;
      const name = parseHostName(entry.slice(0, -".yaml".length));
      const file = `hosts.d/${entry}`;
      const hostFile = { file, path: `${paths.hostsDir}/${entry}` };
      const record = name.ok
        ? parseHostShard(await files.readText(`${paths.hostsDir}/${entry}`), name.value, hostFile)
        : err({
          ...brokenHostFile(hostFile, [`${file}:1: its name must be that of a host`]),
          hints: [`ls -l ${paths.hostsDir}`],
        });
      if (record.ok) {
        hosts.set(record.value.name, record.value);
        continue;
      }
      faults.push(record.error);
      if (name.ok) unreadable.set(name.value, record.error);
    }
  } catch (thrown) {
    return err(fileRefusal(thrown, "read the hosts of the ledger"));
  }
  return ok({ hosts, faults, unreadable });
}

/** Changes the keys of a host in one commit; comments of the file are preserved. */
export async function changeHostKeys(
  ports: LedgerPorts,
  paths: Paths,
  change: LedgerAuthor & {
    readonly host: HostName;
    readonly summary: string;
    /** Returns the new keys, given the current ones under the lock. */
    readonly decide: (keys: readonly string[] | undefined) => Result<readonly string[]>;
  },
): Promise<Result<Committed>> {
  const { host, verb, caller, summary } = change;
  const file = `hosts.d/${host}.yaml`;
  return await commitChange(ports, paths, {
    verb,
    caller,
    summary,
    edits: [{
      path: paths.hostShard(host),
      mode: 0o644,
      change: (current) => {
        const before = parseHostShard(current, host, { file, path: paths.hostShard(host) });
        if (!before.ok) return before;
        const keys = change.decide(before.value.dialKeys);
        if (!keys.ok) return keys;
        const isSame = JSON.stringify(keys.value) === JSON.stringify(before.value.dialKeys);
        if (isSame && current !== undefined) return ok(current);
        return editYaml(current ?? `name: ${host}\n`, (yaml) => {
          yaml.set(["dial_keys"], [...keys.value]);
        }, file);
      },
    }],
  });
}
