/**
 * Deno permission sets with run-time paths: the templates of `deno.json` with every `{placeholder}`
 * replaced for one root and, for an agent's programs, one agent. No I/O.
 *
 * An entry that consists of one placeholder may expand to a list: `"{model_hosts}"`. A placeholder
 * without a value is a refusal, never an empty or literal path.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { faultCount } from "core/text/fault_count.ts";
import projectConfig from "deno.json" with { type: "json" };

/** A permission of a set: all, none, a list, or (for `env`) a list and the ignored names. */
export type PermissionValue =
  | boolean
  | readonly string[]
  | { readonly allow: readonly string[]; readonly ignore: boolean | readonly string[] };

/** One permission set, keys as Deno spells them. */
export type PermissionSet = Readonly<Record<string, PermissionValue>>;

/** Values of placeholders. */
export type PermissionValues = Readonly<Record<string, string | readonly string[]>>;

/** The set of verbs that run as root. */
export const EXEC_SET = "fleetctl-exec";

/** Sets that are shipped with the programs. */
export const PROGRAM_SETS: readonly string[] = [
  "fleetctl",
  "fleetctl-exec",
  "fleetctl-up",
  "daemon",
];

/** Returns the templates of all permission sets, from `deno.json`. */
export function permissionTemplates(): Readonly<Record<string, PermissionSet>> {
  return projectConfig.permissions;
}

/** Returns the import map of the tree, from `deno.json`. */
export function projectImports(): Readonly<Record<string, string>> {
  return projectConfig.imports;
}

/** Expands one set; refuses an unknown placeholder and a value that Deno would split. */
export function expandSet(
  name: string,
  template: PermissionSet,
  values: PermissionValues,
): Result<PermissionSet> {
  const faults: string[] = [];
  const list = (kind: string, items: readonly string[]) =>
    items.flatMap((item) => expandItem(item, values, (fault) => faults.push(`${kind}: ${fault}`)));
  const expanded: Record<string, PermissionValue> = {};
  for (const [kind, value] of Object.entries(template)) {
    if (typeof value === "boolean") expanded[kind] = value;
    else if (isList(value)) expanded[kind] = [...new Set(list(kind, value))];
    else expanded[kind] = { ...value, allow: list(kind, value.allow) };
  }
  if (faults.length === 0) return ok(expanded);
  return err(refusal(
    "permission-placeholder-unknown",
    `Cannot render permission set ${JSON.stringify(name)}: it has ${faultCount(faults)}`,
    { details: faults },
  ));
}

function isList(value: PermissionValue): value is readonly string[] {
  return Array.isArray(value);
}

function expandItem(
  item: string,
  values: PermissionValues,
  fault: (text: string) => void,
): readonly string[] {
  const alone = /^\{([a-z_]+)\}$/.exec(item)?.[1];
  const whole = alone === undefined ? undefined : values[alone];
  if (whole !== undefined && typeof whole !== "string") return whole;
  const text = item.replace(/\{([^{}]*)\}/g, (placeholder, name: string) => {
    const value = values[name];
    if (typeof value === "string") return value;
    fault(`${JSON.stringify(item)} contains ${placeholder}, which has no value`);
    return "";
  });
  return [text];
}
