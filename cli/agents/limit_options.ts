/**
 * The options `--memory-max`, `--tasks-max` and similar ones, and how verbs print limits. Pure.
 *
 * @module
 */

import { limitFields, type LimitsEdit } from "core/ledger/limit_fields.ts";
import {
  type AgentLimits,
  fillLimits,
  type HostLimits,
  LIMIT_ROWS,
  type LimitRow,
  limitsFault,
  parseLimit,
  printLimit,
} from "core/limits/agent.ts";

/** The limit options of one command line. */
export interface GivenLimits {
  /**
   * Only the limits that were given. A field that is present and `undefined` removes that limit
   * (`--memory-max ''`).
   */
  readonly edit: LimitsEdit;
  /** Keys of the shard that were given. */
  readonly keys: readonly string[];
  readonly faults: readonly string[];
}

/** Reads the options of all limits. */
export function readLimitOptions(
  options: Readonly<Record<string, string | undefined>>,
): GivenLimits {
  const edit: { -readonly [F in keyof LimitsEdit]: LimitsEdit[F] } = {};
  const keys: string[] = [];
  const faults: string[] = [];
  for (const row of LIMIT_ROWS) {
    const option = row.key.replaceAll("_", "-");
    const text = options[option];
    if (text === undefined) continue;
    keys.push(row.key);
    const value = text === "" ? undefined : parseLimit(row, text);
    if (value?.ok === false) faults.push(`--${option}: ${value.error.message}`);
    else edit[row.field] = value?.value;
  }
  const fault = limitsFault(withoutAbsent(edit));
  return { edit, keys, faults: fault === undefined ? faults : [...faults, fault] };
}

/** Returns the limits after an edit; undefined when none are left. */
export function withEdit(
  limits: AgentLimits | undefined,
  edit: LimitsEdit,
): AgentLimits | undefined {
  const after = withoutAbsent({ ...limits, ...edit });
  return Object.keys(after).length === 0 ? undefined : after;
}

function withoutAbsent(edit: LimitsEdit): AgentLimits {
  return Object.fromEntries(Object.entries(edit).filter(([, value]) => value !== undefined));
}

/**
 * Returns the limits in force as one line for people, and marks those that the agent's record sets.
 * Without host limits, the line has only the record's limits, and states that limits are enforced
 * under systemd only.
 */
export function limitsText(own: AgentLimits | undefined, host: HostLimits | undefined): string {
  const shown = host === undefined ? own ?? {} : fillLimits(own ?? {}, host.agent);
  const limits = LIMIT_ROWS.flatMap((row) => {
    const value = shown[row.field];
    return value === undefined ? [] : [wordsOf(row, value, own)];
  });
  if (host !== undefined) return limits.join(", ");
  return limits.length === 0
    ? "none: they are enforced under systemd only"
    : `${limits.join(", ")}; enforced under systemd only`;
}

function wordsOf(row: LimitRow, value: number, own: AgentLimits | undefined): string {
  const source = own?.[row.field] === undefined ? "" : " (its own)";
  return `${row.key} ${printLimit(row, value)}${source}`;
}

/** Returns the effective limits as `--json` prints them; null where none are enforced. */
export function limitsJson(own: AgentLimits | undefined, host: HostLimits | undefined) {
  return host === undefined ? null : limitFields(fillLimits(own ?? {}, host.agent)) ?? null;
}
