/**
 * The options of `agents add` and `agents set` that each set one text field of the record.
 * `core/ledger/agent_fields.ts` defines the fields and their valid values. Pure.
 *
 * @module
 */

import { TEXT_FIELD_NAMES, TEXT_FIELDS, type TextFieldName } from "core/ledger/agent_fields.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { parseFieldText } from "core/text/field_reader.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Given values, by field name of the record. */
export type TextFields = { readonly [F in TextFieldName]?: NonNullable<AgentRecord[F]> };

/** Options after parsing. */
export interface TextOptions {
  readonly fields: TextFields;
  /** Fields with an empty option. An empty option removes an optional field. */
  readonly emptied: readonly TextFieldName[];
  /** Shard keys of all given options. */
  readonly keys: readonly string[];
  readonly faults: readonly string[];
}

/** Reads all text options. Reports every fault at once. */
export function readTextOptions(options: Invocation["options"]): TextOptions {
  const fields: Partial<Record<TextFieldName, string>> = {};
  const emptied: TextFieldName[] = [];
  const keys: string[] = [];
  const faults: string[] = [];
  for (const field of TEXT_FIELD_NAMES) {
    const { key, rule, normal } = TEXT_FIELDS[field];
    const option = textOption(field);
    const text = options[option];
    if (text === undefined) continue;
    keys.push(key);
    if (text === "") {
      emptied.push(field);
      continue;
    }
    const held = parseFieldText(text);
    const fault = held.ok ? rule(text) : undefined;
    if (!held.ok) faults.push(`--${option}: ${held.error.message}`);
    else if (fault !== undefined) faults.push(`--${option}: is ${JSON.stringify(text)}, ${fault}`);
    else fields[field] = normal?.(text) ?? text;
  }
  return { fields: fields as TextFields, emptied, keys, faults };
}

/** Returns the option name of a field. */
export function textOption(field: TextFieldName): string {
  return TEXT_FIELDS[field].key.replaceAll("_", "-");
}
