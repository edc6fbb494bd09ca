/**
 * The output lines of `up`: one for each part that becomes ready, then the next steps. Pure.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { localCommandsFor } from "core/hints/local_hints.ts";
import type { UnitEvent } from "units/manager/embedded.ts";
import type { HostRoles } from "core/ledger/host_roles.ts";
import type { Paths } from "core/paths.ts";
import { DEFAULT_WORKSPACE } from "core/workspace.ts";
import { quoteShell } from "core/text/quote.ts";
import type { StepProgress } from "units/reconcile/run.ts";

const NAME_WIDTH = 26;

/** Returns the display name of a part: `gateway`, `dial-ada`, `mcp-git-ada`. */
export function partName(unit: string): string {
  return unit.replace(/^fleetctl-/, "").replace(/\.(service|socket)$/, "");
}

/** Returns the line for one part and its state. */
export function partLine(name: string, state: string, more?: string): string {
  return `  ${name.padEnd(NAME_WIDTH)} ${state}${more === undefined ? "" : `  ${more}`}`;
}

/** Shorter steps get no line. */
const NOTICED_MS = 150;
/** The note lists this many keys by name and counts the others. */
const KEYS_SHOWN = 8;

/** Returns the line for a step of the reconcile; undefined for a step that is not shown. */
export function stepLine(step: StepProgress, tookMs: number): string | undefined {
  if (step.kind !== "vendor") return undefined;
  if (step.state === "failed") return partLine(step.subject, "not installed");
  if (step.state === "begin" || tookMs < NOTICED_MS) return undefined;
  return partLine(step.subject, "installed", `${(tookMs / 1000).toFixed(1)} s`);
}

/** Returns the lines about missing protections, which need systemd and Unix users. */
export function relaxedLines(keys: readonly string[]): readonly string[] {
  if (keys.length === 0) return [];
  const rest = keys.length - KEYS_SHOWN;
  const shown = keys.slice(0, KEYS_SHOWN).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
  return [
    `not enforced without systemd and Unix users: ${shown} (docs/design.md)`,
    "every agent here runs as you: its tools can read and change what you can, " +
    "including the keys of this root",
  ];
}

/** Returns the line for an event of the manager; undefined for an event that is not shown. */
export function managerLine(event: UnitEvent): string | undefined {
  const name = partName(event.unit);
  // A server that starts and stops with its client gets no line.
  if (/@.+/.test(name)) return undefined;
  switch (event.kind) {
    case "ready":
      return partLine(name, event.unit.endsWith(".socket") ? "listening" : "ready");
    case "failed":
      return [
        partLine(name, "failed", event.reason),
        ...(event.journal ?? []).map((line) => `    ${line}`),
      ].join("\n");
    case "restarting":
      return partLine(name, "restarting", `in ${event.delayMs ?? 0} ms`);
    case "refused":
      return [
        partLine(name, "refused: its unit file is unusable"),
        ...(event.details ?? []).map((line) => `    ${line}`),
      ].join("\n");
    case "starting":
    case "exited":
    case "stopped":
    case "leftover":
      return undefined;
  }
}

/** Returns the line about the agents' folder, and what else their git may read. */
export function workspaceLine(
  { workdir, project }: Pick<HostRoles, "workdir" | "project">,
): string {
  const also = project === undefined || project === workdir ? "" : `, and git reads ${project}`;
  const hint = workdir === DEFAULT_WORKSPACE ? " (--workdir DIR chooses another folder)" : "";
  return `agents work in ${workdir}${also}${hint}`;
}

/** Returns the next steps as commands to paste. */
export function nextSteps(
  context: { readonly env: VerbContext["env"]; readonly paths: Pick<Paths, "root"> },
  project: string,
): readonly string[] {
  const { env, paths } = context;
  const tree = env.FLEETCTL_FROM_TREE;
  const { up, upRoot, verb } = localCommandsFor(tree, paths.root);
  return [
    "try, in another terminal:",
    `  ${up}${upRoot} --turn 'what can you do'`,
    `  ${up}${upRoot} --turn ${quoteShell(`last commit of ${project}`)}`,
    `  ${verb} status`,
  ];
}
