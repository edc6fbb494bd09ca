/**
 * The fields of an agent's record that hold one text each: their key in the shard and what they
 * must be. Reading, printing, editing and taking back a shard, and the JSON of verbs, follow from a
 * row (HACKING.md#add-a-field-to-the-agents-record). No I/O.
 *
 * @module
 */

import type { AgentRecord } from "core/ledger/agent.ts";
import { nameFault, parseEmail, parseHostName, parseObjectId } from "core/names.ts";
import type { Result } from "core/result.ts";
import type { StringRule } from "core/text/field_reader.ts";
import { workspaceRule } from "core/workspace.ts";

/** Fields of one text that a verb may change; a new one does not compile without its row. */
export type TextFieldName = Exclude<
  { [F in keyof AgentRecord]-?: AgentRecord[F] extends string | undefined ? F : never }[
    keyof AgentRecord
  ],
  "name" | "channel" | "created" | "stopped"
>;

/** One field of one text. */
export interface TextField {
  /** Its key in the shard, and in the JSON of verbs. */
  readonly key: string;
  readonly rule: StringRule;
  /** Gives the one spelling of a text that passed the rule. */
  readonly normal?: (text: string) => string;
}

const RUNTIME_NAME = /^[a-z][a-z0-9-]{0,30}$/;
/** Provider and model names: what vendors use, never a blank, so that they can stand in a unit. */
const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/;

/** Every such field, in the order in which a shard is printed. */
export const TEXT_FIELDS: { readonly [F in TextFieldName]: TextField } = {
  userEmail: { key: "user_email", ...name(parseEmail) },
  ownerAad: { key: "owner_aad", ...name(parseObjectId) },
  ownerEmail: { key: "owner_email", ...name(parseEmail) },
  runtime: { key: "runtime", rule: patternRule(RUNTIME_NAME, "a runtime name") },
  provider: { key: "provider", rule: patternRule(MODEL_NAME, "a provider name") },
  model: { key: "model", rule: patternRule(MODEL_NAME, "a model name") },
  runOn: { key: "run_on", ...name(parseHostName) },
  workspace: { key: "workspace", rule: workspaceRule },
};

/** The names of `TEXT_FIELDS`. */
export const TEXT_FIELD_NAMES = Object.keys(TEXT_FIELDS) as readonly TextFieldName[];

/** Returns the texts of a record by their keys; `undefined` for what is not set. */
export function textsByKey(
  record: Pick<AgentRecord, TextFieldName>,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(TEXT_FIELD_NAMES.map((field) => [
    TEXT_FIELDS[field].key,
    record[field],
  ]));
}

/** A rule for texts of one form. */
export function patternRule(pattern: RegExp, what: string): StringRule {
  return (text) => pattern.test(text) ? undefined : `must be ${what}`;
}

/** A rule for what `parse` takes. */
export function nameRule(parse: (text: string) => Result<string>): StringRule {
  return (text) => nameFault(parse, text);
}

function name(parse: (text: string) => Result<string>) {
  const normal = (text: string) => {
    const parsed = parse(text);
    if (!parsed.ok) throw new TypeError(parsed.error.message);
    return parsed.value;
  };
  return { rule: nameRule(parse), normal };
}
