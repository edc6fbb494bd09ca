/**
 * What a reconcile did, or would do: per file and per unit, with every fault, because one broken
 * MCP must not hide anything else. Printed as lines for people and as JSON for scripts; never a
 * value of a secret. No I/O.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import { REPLACEMENT_MS_MAX } from "units/reconcile/replacement.ts";

/** What happened to one file. */
export type FileChange = "unchanged" | "created" | "updated" | "removed";

/** One file of the report. */
export interface FileLine {
  readonly path: string;
  readonly change: FileChange;
  /** Line diff for `--dry-run`; secret files show the names of changed keys only. */
  readonly diff?: readonly string[];
}

/** What happened to one unit. `bounced`: a socket's servers were ended so that new ones start. */
export interface UnitLine {
  readonly unit: string;
  readonly change: "started" | "restarted" | "bounced" | "stopped";
}

/** An agent that runs an old version; times are ISO 8601 UTC. */
export interface WaitingLine {
  readonly agent: string;
  readonly since: string;
  /** When it is replaced at the latest. */
  readonly until: string;
}

/** Returns one line for each agent whose units wait, with the first time in milliseconds. */
export function waitingLines(
  units: readonly { readonly agent: string; readonly since: number }[],
): readonly WaitingLine[] {
  const first = new Map<string, number>();
  for (const { agent, since } of units) {
    first.set(agent, Math.min(since, first.get(agent) ?? since));
  }
  const iso = (time: number) => new Date(time).toISOString();
  return [...first].sort(([a], [b]) => a < b ? -1 : 1).map(([agent, since]) => ({
    agent,
    since: iso(since),
    until: iso(since + REPLACEMENT_MS_MAX),
  }));
}

/** The outcome of one reconcile. */
export interface Report {
  readonly dryRun: boolean;
  readonly files: readonly FileLine[];
  readonly units: readonly UnitLine[];
  /** MCPs whose vendored tree changed. */
  readonly vendored: readonly string[];
  /** Agents that run with inputs older than those on disk: changes take effect after a restart. */
  readonly restartPending: readonly string[];
  /** Agents that run an old version until the end of their turn. */
  readonly waiting: readonly WaitingLine[];
  /** What could not be done; everything else was done. */
  readonly faults: readonly Refusal[];
  readonly warnings: readonly string[];
  /** Faults found on the host that were repaired, or would be. */
  readonly found: readonly Refusal[];
}

/** Returns whether a report states that nothing had to be done. */
export function isUnchanged(report: Report): boolean {
  return report.units.length === 0 && report.vendored.length === 0 &&
    report.files.every((file) => file.change === "unchanged");
}

/**
 * Returns a report as lines: changed files, units, pending restarts; one line when all is
 * unchanged.
 */
export function printReport(report: Report): readonly string[] {
  const would = report.dryRun ? "would be " : "";
  const lines: string[] = report.found.map(({ message }) => `found      ${message}`);
  lines.push(...report.vendored.map((mcp) => `vendored   ${mcp}`));
  for (const file of report.files) {
    if (file.change === "unchanged") continue;
    lines.push(`${file.change.padEnd(10)} ${file.path}`);
    lines.push(...(file.diff ?? []).map((line) => `  ${line}`));
  }
  for (const unit of report.units) lines.push(`${unit.change.padEnd(10)} ${unit.unit}`);
  const unchanged = report.files.filter((file) => file.change === "unchanged").length;
  if (lines.length === 0 && report.faults.length === 0) {
    lines.push(`unchanged  ${unchanged} files`);
  } else if (report.dryRun) {
    lines.push(`dry run: the changes above ${would}made, ${unchanged} files are unchanged`);
  }
  for (const agent of report.restartPending) {
    lines.push(
      `takes effect only after agent "${agent}" restarts: fleetctl agents restart ${agent}`,
    );
  }
  for (const { agent, until } of report.waiting) {
    lines.push(
      `agent "${agent}" runs the old version until its turn ends, at the latest until ${until}: ` +
        "fleetctl apply --now",
    );
  }
  return lines;
}

/** Returns a report as the JSON value that `--json` prints; keys are snake_case. */
export function reportJson(report: Report): Readonly<Record<string, unknown>> {
  return {
    dry_run: report.dryRun,
    files: report.files,
    units: report.units,
    vendored: report.vendored,
    restart_pending: report.restartPending,
    waiting: report.waiting,
    faults: report.faults,
    warnings: report.warnings,
    found: report.found,
  };
}
