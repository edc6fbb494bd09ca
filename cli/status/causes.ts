/**
 * Why units do not serve: the last error in each one's log, its cause, and the commands that fix
 * it. Changes nothing. Reads the logs of a few units only, because one cause often stops many.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { lastError, type NamedFault } from "cli/status/last_error.ts";
import { portHolder } from "cli/status/port_holder.ts";
import { quoteShell } from "core/text/quote.ts";
import { isJournalOfAgent, mendDatabase } from "units/reconcile/damaged_database.ts";

/** Why a unit does not serve. */
export interface Cause {
  /** The last error first. */
  readonly details: readonly string[];
  /** Commands that fix it, in order; empty if only a person can decide. */
  readonly hints: readonly string[];
}

const UNITS_MAX = 8;
const LINES = 60;
const DIAL = /^fleetctl-dial-(.+)\.service$/;

/** Returns the causes that the logs of units show, by unit. Only the first few units are read. */
export async function findCauses(
  context: VerbContext,
  units: readonly string[],
): Promise<ReadonlyMap<string, Cause>> {
  const queried = [...new Set(units)].slice(0, UNITS_MAX);
  const causes = await Promise.all(queried.map(async (unit) => {
    const cause = await findCause(context, unit);
    return cause === undefined ? [] : [[unit, cause] as const];
  }));
  return new Map(causes.flat());
}

async function findCause(context: VerbContext, unit: string): Promise<Cause | undefined> {
  const services = context.ports.services(context.paths);
  let lines: readonly string[];
  try {
    lines = await services.journal(unit, LINES);
  } catch (thrown) {
    // `status` must work without a readable journal. The details give the reason.
    return { details: [`its log cannot be read: ${String(thrown)}`], hints: [] };
  }
  const last = lastError(lines);
  if (last === undefined) return undefined;
  const lastLine = `last error: ${last.line}`;
  const restart = services.name === "systemd" ? `systemctl restart ${unit}` : "fleetctl apply";
  const mending = mendDatabase([last.line], { unit, paths: context.paths, start: restart });
  if (mending !== undefined) {
    return { details: [lastLine, ...mending.details], hints: mending.hints };
  }
  const more = last.fault === undefined
    ? { details: [], hints: [] }
    : await explain(context, { unit, fault: last.fault, restart });
  return { details: [lastLine, ...more.details], hints: more.hints };
}

interface FaultOfUnit {
  readonly unit: string;
  readonly fault: NamedFault;
  readonly restart: string;
}

async function explain(
  context: VerbContext,
  { unit, fault, restart }: FaultOfUnit,
): Promise<Cause> {
  switch (fault.kind) {
    case "port-taken":
      // No unit of an agent listens on a port. The agent's log must not suggest stopping the holder
      // of one.
      if (isJournalOfAgent(unit)) return { details: [], hints: [] };
      return await takenPort(context, fault.port, restart);
    case "file-denied":
      return await deniedFile(context, { unit, path: fault.path, restart });
    case "work-folder-denied":
      return await deniedHome(context, { unit, restart });
    case "disk-full":
      return { details: [], hints: ["fleetctl gc"] };
  }
}

async function takenPort(
  { ports, paths }: VerbContext,
  port: number,
  restart: string,
): Promise<Cause> {
  const holder = await portHolder(ports, port);
  if (holder === undefined) {
    return { details: [`port ${port} is free now`], hints: [restart] };
  }
  const { user, process } = holder;
  const elsewhere = `or set another port in ${paths.rolesFile}, then: fleetctl apply`;
  if (process === undefined) {
    return {
      details: [`port ${port} is held by a program of user ${user}`, elsewhere],
      hints: [`ss -tlnp 'sport = :${port}'`],
    };
  }
  const { pid, name, unit } = process;
  const where = unit === undefined ? "" : `, which belongs to ${unit}`;
  return {
    details: [
      `port ${port} is held by ${name} (pid ${pid}) of user ${user}${where}`,
      elsewhere,
    ],
    hints: [unit === undefined ? `kill ${pid}` : `systemctl stop ${quoteShell(unit)}`, restart],
  };
}

/**
 * Returns the cause of a denied file. `apply` repairs a role's own folder. In a home root changes
 * nothing by itself, so the hint is a command.
 */
async function deniedFile(
  context: VerbContext,
  of: { readonly unit: string; readonly path: string; readonly restart: string },
): Promise<Cause> {
  const agent = DIAL.exec(of.unit)?.[1];
  const home = agent === undefined ? undefined : context.paths.home(agent);
  if (agent === undefined || home === undefined || !of.path.startsWith(`${home}/`)) {
    return { details: [], hints: ["fleetctl apply", of.restart] };
  }
  const belongs = await wrongOwner(context, of.path, agent, home);
  const folder = quoteShell(`${home}/.fleetctl`);
  return {
    details: belongs === undefined ? [] : [belongs],
    hints: [`chown -R -h -P ${agent}:${agent} ${folder}`, of.restart],
  };
}

/**
 * Returns the cause when a dial unit may not enter the home in which it works. Gives a hint only if
 * another user owns the home.
 */
async function deniedHome(
  context: VerbContext,
  of: { readonly unit: string; readonly restart: string },
): Promise<Cause> {
  const agent = DIAL.exec(of.unit)?.[1];
  if (agent === undefined) return { details: [], hints: [] };
  const home = context.paths.home(agent);
  const belongs = await wrongOwner(context, home, agent, home);
  return belongs === undefined ? { details: [], hints: [] } : {
    details: [belongs],
    hints: [`chown -h ${agent}:${agent} ${quoteShell(home)}`, of.restart],
  };
}

/**
 * Returns who owns a file that must belong to an agent; undefined if the agent owns it. For a
 * missing file the nearest folder above it counts, up to the home: access to it was denied.
 */
async function wrongOwner(
  context: VerbContext,
  path: string,
  agent: string,
  home: string,
): Promise<string | undefined> {
  const { files, users } = context.ports;
  const stat = await files.stat(path);
  if (stat === undefined) {
    return path.startsWith(`${home}/`)
      ? await wrongOwner(context, path.slice(0, path.lastIndexOf("/")), agent, home)
      : undefined;
  }
  const owner = (await users.byUid(stat.uid))?.name ?? String(stat.uid);
  return owner === agent ? undefined : `"${path}" belongs to ${owner}, must belong to ${agent}`;
}
