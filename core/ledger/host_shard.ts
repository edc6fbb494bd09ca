/**
 * The file of one host in the ledger, `hosts.d/<hostname>.yaml`. No I/O.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { editHint } from "core/hints/edit_hint.ts";
import { isDialKey } from "core/ledger/shard.ts";
import type { HostName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { createFieldReader } from "core/text/field_reader.ts";
import { parseCachedYaml } from "core/text/yaml_cache.ts";

/** One host of the fleet. */
export interface HostRecord {
  readonly name: HostName;
  /** Keys that its unit may prove; empty if all were revoked, undefined if there never was one. */
  readonly dialKeys: readonly string[] | undefined;
}

/** A file of the ledger: its name in messages, and its path. */
export interface HostFile {
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
  if (!yaml.ok) return err(brokenHostFile(hostFile, yaml.error.details));
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
  if (read.faults.length > 0) return err(brokenHostFile(hostFile, read.faults));
  return ok({ name: host, dialKeys: read.has(["dial_keys"]) ? keys : undefined });
}

/** The refusal of a file that cannot be read. */
export function brokenHostFile({ file, path }: HostFile, details: readonly string[]): Refusal {
  return refusal("host-shard-invalid", `Cannot read the host file "${file}" of the ledger`, {
    details,
    hints: [editHint(path)],
  });
}
