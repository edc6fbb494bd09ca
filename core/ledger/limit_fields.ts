/**
 * Reads, prints and edits the mapping `limits` of a shard and of `roles.yaml`. No I/O.
 *
 * @module
 */

import {
  type AgentLimits,
  LIMIT_ROWS,
  type LimitField,
  limitRule,
  limitsFault,
  parseLimit,
  printLimit,
} from "core/limits/agent.ts";
import type { FieldReader } from "core/text/field_reader.ts";
import { isRecord } from "core/text/json_object.ts";
import type { YamlEditor, YamlPath } from "core/text/yaml.ts";

/** Limits to change; `undefined` removes one. */
export type LimitsEdit = { readonly [F in LimitField]?: number | undefined };

/** Reads the mapping at `path`; undefined if it is absent or empty. Adds faults to the reader. */
export function readLimits(read: FieldReader, path: YamlPath): AgentLimits | undefined {
  if (!read.has(path)) return undefined;
  read.onlyKeys(path, LIMIT_ROWS.map(({ key }) => key));
  const limits: { -readonly [F in LimitField]?: number } = {};
  for (const row of LIMIT_ROWS) {
    const at = [...path, row.key];
    if (row.unit === "count") {
      const count = read.integer(at, [row.min, row.max]);
      if (count !== undefined) limits[row.field] = count;
      continue;
    }
    const text = read.string(at, (given) => parseLimit(row, given).ok ? undefined : limitRule(row));
    const size = text === undefined ? undefined : parseLimit(row, text);
    if (size?.ok) limits[row.field] = size.value;
  }
  const fault = limitsFault(limits);
  if (fault !== undefined) read.fault(path, fault);
  return Object.keys(limits).length === 0 ? undefined : limits;
}

/** Returns limits in the form of YAML and JSON; undefined if there are none. */
export function limitFields(
  limits: AgentLimits | undefined,
): Readonly<Record<string, string | number>> | undefined {
  const entries = LIMIT_ROWS.flatMap((row) => {
    const value = limits?.[row.field];
    return value === undefined ? [] : [[row.key, fieldValue(row, value)] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** Edits the mapping `limits` of a shard; removes it if it becomes empty. */
export function editLimits(yaml: YamlEditor, edit: LimitsEdit): void {
  for (const row of LIMIT_ROWS) {
    if (!Object.hasOwn(edit, row.field)) continue;
    const path = ["limits", row.key];
    const value = edit[row.field];
    if (value === undefined) yaml.remove(path);
    else if (yaml.get(path) !== fieldValue(row, value)) yaml.set(path, fieldValue(row, value));
  }
  const left = yaml.get(["limits"]);
  if (isRecord(left) && Object.keys(left).length === 0) yaml.remove(["limits"]);
}

function fieldValue(row: typeof LIMIT_ROWS[number], value: number): string | number {
  return row.unit === "bytes" ? printLimit(row, value) : value;
}
