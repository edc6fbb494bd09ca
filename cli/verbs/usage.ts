/**
 * `fleetctl usage [<agent>]`: the tokens that agents used, and their cost at list prices. Changes
 * nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Block, Cell, VerbReport } from "cli/output.ts";
import { parseSince, type Since, sinceMs } from "cli/since.ts";
import { type FoundUsage, type Period, readUsage } from "cli/usage/read.ts";
import { sumUsage, USAGE_KEYS, type UsageKey, type UsageRow } from "cli/usage/sum.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { readPrices } from "core/usage/prices.ts";
import { DAY_MS } from "core/text/duration.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import type { Target } from "core/verbs/target.ts";

/** Options of `fleetctl usage`. */
export interface Options {
  readonly by: UsageKey;
  readonly since: Since;
  /** Absent: until now. */
  readonly until?: Since;
}

const SINCE_DEFAULT: Since = { agoMs: 30 * DAY_MS };

/** Parses the options. Reports every fault at once. */
export function parseOptions({ options }: Invocation): Result<Options> {
  const faults: string[] = [];
  const timeOf = (name: "since" | "until") => {
    const text = options[name];
    const time = text === undefined ? undefined : parseSince(text);
    if (text !== undefined && time === undefined) {
      faults.push(`--${name} is "${text}", must be a span such as 7d or a UTC time`);
    }
    return time;
  };
  const [since = SINCE_DEFAULT, until] = [timeOf("since"), timeOf("until")];
  if (faults.length > 0) return err(invalid(faults.join("; ")));
  const by = USAGE_KEYS.find((key) => key === options.by) ?? "agent";
  return ok({ by, since, ...defined({ until }) });
}

function invalid(why: string) {
  return refusal("options-invalid", `Cannot show the usage: ${why}`, {
    kind: "usage",
    hints: ["fleetctl usage --help"],
  });
}

/** Queries the dial units, sums and prices. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths, target } = context;
  const now = ports.clock.now();
  const period: Period = {
    since: Math.max(0, sinceMs(options.since, now)),
    // The turn that ended in this millisecond counts.
    until: Math.max(0, options.until === undefined ? now + 1 : sinceMs(options.until, now)),
  };
  if (period.since >= period.until) {
    return err(invalid(`--since is ${iso(period.since)}, must be before ${iso(period.until)}`));
  }
  const [found, prices] = [await readUsage(context, period), await readPrices(ports.files, paths)];
  if (!found.ok) return found;
  const { by } = options;
  const { rows, total } = sumUsage(found.value.usage, by, prices.ok ? prices.value : new Map());
  return ok({
    json: {
      since: iso(period.since),
      until: iso(period.until),
      by,
      rows: rows.map((row) => ({ [by]: row.key, ...jsonOf(row) })),
      total: jsonOf(total),
      unread: [...found.value.unread.keys()],
    },
    blocks: [
      {
        kind: "table",
        title: `Usage from ${shortTime(period.since)} to ${shortTime(period.until)} UTC`,
        columns: [by, "turns", "in", "out", "cached read", "cached write", "cost (USD)"],
        rows: [...rows, ...(rows.length > 1 ? [total] : [])].map((row) => cellsOf(row)),
        empty: emptyText(target, found.value),
      },
      notesOf(rows),
    ],
    faults: [...found.value.unread.values(), ...(prices.ok ? [] : [prices.error])],
  });
}

/** States that there was no turn only for agents that answered. */
function emptyText(target: Target, { usage, unread }: FoundUsage): string {
  if (unread.size > 0) {
    return usage.length === 0 ? "The usage is unknown" : "The other agents had no turn";
  }
  return target.kind === "agent" ? `Agent "${target.agent}" had no turn` : "There was no turn";
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Prints the minute of a time: `2026-11-22 18:09`. */
function shortTime(ms: number): string {
  return iso(ms).slice(0, 16).replace("T", " ");
}

function jsonOf(row: UsageRow) {
  const { turns, tokens, usd } = row;
  return {
    turns,
    turns_without_figures: row.unknownTurns,
    turns_with_partial_figures: row.partialTurns,
    input_tokens: tokens.input,
    output_tokens: tokens.output,
    cached_read_tokens: tokens.cachedRead,
    cached_write_tokens: tokens.cachedWrite,
    // Millionths of a dollar; the rest is noise of the multiplication.
    cost_usd: usd === undefined ? null : Math.round(usd * 1e6) / 1e6,
    cost_is_minimum: row.isMinimum,
    models_without_price: row.unpricedModels,
    models_with_longer_prompts: row.longPromptModels,
  };
}

/** Name of the row of turns whose model is unknown. */
const UNKNOWN = "(unknown)";

function cellsOf(row: UsageRow): readonly Cell[] {
  const { tokens } = row;
  const hasFigures = row.turns > row.unknownTurns;
  const counts = [tokens.input, tokens.output, tokens.cachedRead, tokens.cachedWrite];
  return [
    { text: row.key ?? UNKNOWN, tone: "head" },
    grouped(row.turns),
    ...counts.map((count) => hasFigures ? grouped(count) : "-"),
    costText(row),
  ];
}

function costText({ usd, isMinimum }: UsageRow): Cell {
  if (usd === undefined) return { text: "unknown", tone: "warn" };
  const digits = usd >= 1 || usd === 0 ? 2 : 4;
  const text = usd > 0 && usd < 0.0001 ? "<0.0001" : usd.toFixed(digits);
  return isMinimum ? { text: `${text} or more`, tone: "warn" } : text;
}

/** Returns why costs are unknown or a minimum, by row. */
function notesOf(rows: readonly UsageRow[]): Block {
  const lines = rows.flatMap((row) => {
    const notes = [
      ...counted(row.unknownTurns, "without figures"),
      ...counted(row.partialTurns, "with partial figures"),
      ...row.unpricedModels.map((model) => `no price for ${model}`),
      ...row.longPromptModels.map((model) => `long prompts to ${model} cost more`),
    ];
    return notes.length === 0 ? [] : [`${row.key ?? UNKNOWN}: ${notes.join(", ")}`];
  });
  return { kind: "lines", lines, isVerbatim: true };
}

function counted(turns: number, which: string): readonly string[] {
  return turns === 0 ? [] : [`${grouped(turns)} ${turns === 1 ? "turn" : "turns"} ${which}`];
}

/** Prints a whole number with a comma between thousands. */
function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}
