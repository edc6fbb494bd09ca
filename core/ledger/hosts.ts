/**
 * Hosts of the fleet in the ledger, `hosts.d/<hostname>.yaml`: the dial keys that each host's own
 * unit may prove. A host has no e-mail address to check a first proof against. So root of that host
 * or an operator enrolls its key; proving a key never enrolls it.
 *
 * @module
 */

import { editHint } from "core/hints/edit_hint.ts";
import { refusal } from "core/errors.ts";
import { createFieldReader } from "core/text/field_reader.ts";
import type { LedgerAuthor } from "core/ledger/agents.ts";
import { fileRefusal } from "core/ledger/file_refusal.ts";
import type { LedgerPorts } from "core/ledger/git.ts";
import { commitChange, type Committed } from "core/ledger/repository.ts";
import { isDialKey } from "core/ledger/shard.ts";
import { type HostName, parseHostName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import type { Refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { editYaml } from "core/text/yaml.ts";
import { parseCachedYaml } from "core/text/yaml_cache.ts";

/** One host of the fleet. */
export interface HostRecord {
  readonly name: HostName;
  /** Keys that its unit may prove; empty if all were revoked, undefined if there never was one. */
  readonly dialKeys: readonly string[] | undefined;
}

/** The readable hosts in order of their names, and the faults of the others. */
export interface HostLedger {
  readonly hosts: ReadonlyMap<HostName, HostRecord>;
  readonly faults: readonly Refusal[];
  /** Hosts whose file cannot be read, and the reason. */
  readonly unreadable: ReadonlyMap<HostName, Refusal>;
}

/** Most enrolled keys of one host: the one in use and its replacements. */
export const HOST_KEYS_MAX = 4;

/** A file of the ledger: its name in messages, and its path. */
interface HostFile {
  readonly file: string;
  readonly path: string;
}

/** Parses the file of a host; an absent or empty file gives a record without keys. */
export function parseHostShard(
  text: string | undefined,
  host: HostName,
  hostFile: HostFile,
): Result<HostRecord> {
  if (text === undefined) return ok({ name: host, dialKeys: undefined });
  const yaml = parseCachedYaml(text, hostFile.file);
  if (!yaml.ok) return err(broken(hostFile, yaml.error.details));
  if (yaml.value.value === null) return ok({ name: host, dialKeys: undefined });
  const read = createFieldReader(yaml.value);
  read.onlyKeys([], ["name", "dial_keys"]);
  read.string(
    ["name"],
    (name) => name === host ? undefined : `must be "${host}", like the file name`,
  );
  const keys = read.strings(
    ["dial_keys"],
    (key) => isDialKey(key) ? undefined : "must be 43 characters of base64url",
  );
  if (read.faults.length > 0) return err(broken(hostFile, read.faults));
  return ok({ name: host, dialKeys: read.has(["dial_keys"]) ? keys : undefined });
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
          ...broken(hostFile, [`${file}:1: its name must be that of a host`]),
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

function broken({ file, path }: HostFile, details: readonly string[]): Refusal {
  return refusal("host-shard-invalid", `Cannot read the host file "${file}" of the ledger`, {
    details,
    hints: [editHint(path)],
  });
}
