/**
 * The single-text fields of an agent's record: the key of each in the shard, and its rule. Reading,
 * printing, editing and reverting a shard, and the JSON of verbs, are all derived from these rows
 * (HACKING.md#add-a-field-to-the-agents-record). No I/O.
 *
 * @module
 */

import { type AgentRecord, ASK_MODES, SANDBOX_MODES, YES_OR_NO } from "core/ledger/agent.ts";
import { askTimeRule } from "core/ledger/ask_time.ts";
import { nameFault, parseEmail, parseHostName, parseObjectId } from "core/names.ts";
import type { Result } from "core/result.ts";
import { SANDBOX_NETWORKS } from "core/sandbox/command_sandbox.ts";
import type { StringRule } from "core/text/field_reader.ts";
import { setupRule, workspaceRule } from "core/workspace.ts";
import { parseCeilings, printCeilings } from "core/usage/ceiling.ts";

/** Single-text fields that a verb may change; a new one does not compile without its row. */
export type TextFieldName = Exclude<
  { [F in keyof AgentRecord]-?: AgentRecord[F] extends string | undefined ? F : never }[
    keyof AgentRecord
  ],
  "name" | "channel" | "created" | "stopped"
>;

/** One single-text field. */
export interface TextField {
  /** Its key in the shard, and in the JSON of verbs. */
  readonly key: string;
  readonly rule: StringRule;
  /** Returns the normal form of a text that passed the rule. */
  readonly normal?: (text: string) => string;
}

const RUNTIME_NAME = /^[a-z][a-z0-9-]{0,30}$/;
/**
 * Provider and model names as vendors write them, without blanks, so that a unit file can contain
 * them.
 */
const MODEL_NAME = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$/;

/** All single-text fields, in the order of a printed shard. */
export const TEXT_FIELDS: { readonly [F in TextFieldName]: TextField } = {
  userEmail: { key: "user_email", ...name(parseEmail) },
  ownerAad: { key: "owner_aad", ...name(parseObjectId) },
  ownerEmail: { key: "owner_email", ...name(parseEmail) },
  runtime: { key: "runtime", rule: patternRule(RUNTIME_NAME, "a runtime name") },
  provider: { key: "provider", rule: patternRule(MODEL_NAME, "a provider name") },
  model: { key: "model", rule: patternRule(MODEL_NAME, "a model name") },
  runOn: { key: "run_on", ...name(parseHostName) },
  workspace: { key: "workspace", rule: workspaceRule },
  ask: { key: "ask", rule: choiceRule(ASK_MODES) },
  askTime: { key: "ask_time", rule: askTimeRule },
  worktrees: { key: "worktrees", rule: choiceRule(YES_OR_NO) },
  setup: { key: "setup", rule: setupRule },
  ceiling: { key: "ceiling", rule: ceilingRule, normal: normalCeiling },
  sandbox: { key: "sandbox", rule: choiceRule(SANDBOX_MODES) },
  sandboxNetwork: { key: "sandbox_network", rule: choiceRule(SANDBOX_NETWORKS) },
  persona: { key: "persona", rule: personaRule, normal: (text) => text.trim() },
};

/** The names of `TEXT_FIELDS`. */
export const TEXT_FIELD_NAMES = Object.keys(TEXT_FIELDS) as readonly TextFieldName[];

/** Returns the texts of a record by key; undefined for a field that is not set. */
export function textsByKey(
  record: Pick<AgentRecord, TextFieldName>,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(TEXT_FIELD_NAMES.map((field) => [
    TEXT_FIELDS[field].key,
    record[field],
  ]));
}

/** Accepts a text of one or more lines that a unit file and a prompt can contain. */
function personaRule(text: string): string | undefined {
  if (text.trim() === "") return "must have a word";
  return /[^\P{Cc}\t\n]/u.test(text) || !text.isWellFormed()
    ? "must have no control characters but tabs and line ends"
    : undefined;
}

/** Returns a rule for texts that match a pattern. */
export function patternRule(pattern: RegExp, what: string): StringRule {
  return (text) => pattern.test(text) ? undefined : `must be ${what}`;
}

function ceilingRule(text: string): string | undefined {
  const parsed = parseCeilings(text);
  return parsed.ok ? undefined : parsed.error.message.replace(/^Cannot use the ceilings: /, "");
}

function normalCeiling(text: string): string {
  const parsed = parseCeilings(text);
  return parsed.ok ? printCeilings(parsed.value) : text;
}

function choiceRule(choices: readonly string[]): StringRule {
  return (text) => choices.includes(text) ? undefined : `must be one of ${choices.join(", ")}`;
}

/** Returns a rule for texts that `parse` accepts. */
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
