/**
 * Plans the steps for units: enable, start, bounce, restart. Pure.
 *
 * | unit     | not running            | inputs changed                                       |
 * |----------|------------------------|------------------------------------------------------|
 * | MCP socket | start                | bounce (see below): servers of the old tree or key end |
 * | gateway  | start                  | restart; agents stay up and reconnect                |
 * | login    | start                  | restart; sessions stay, open streams reconnect       |
 * | dial     | start (see below)      | restart (see below) with `restartAgents`, else pending |
 * | daemon   | start                  | restart as the last step, or reported (its child)    |
 *
 * A dial unit that was stopped on purpose (`agents stop`) is always stopped and disabled. One that
 * was stopped by other means is started by `apply` and `up`, and when it is new. An `mcp add` does
 * not start it. A new version may wait for the end of a turn (`replacement.ts`).
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { AgentName } from "core/names.ts";
import type { Desired } from "units/reconcile/desired.ts";
import type { DesiredUnit } from "units/reconcile/desired_part.ts";
import type { InputHashes, Observed } from "units/reconcile/observe.ts";
import {
  isSameRun,
  type ProcessIdentity,
  type RecordedUnit,
  type RenderRecord,
} from "units/reconcile/record.ts";
import { decideReplacement, type Origin, type Replacement } from "units/reconcile/replacement.ts";
import type { UnitStep } from "units/reconcile/step.ts";
import { dialUnit } from "units/render/unit_name.ts";
import type { UnitStatus } from "core/ports/unit.ts";

/** Steps for units, and their records afterwards. */
export interface UnitPlan {
  /** Steps before the reload: stops, and changes to what a boot starts. */
  readonly enabling: readonly UnitStep[];
  readonly steps: readonly UnitStep[];
  /** By unit; valid when none of the unit's steps failed. */
  readonly recorded: ReadonlyMap<string, RecordedUnit>;
  /** Agents that keep running with inputs older than those on disk. */
  readonly restartPending: readonly AgentName[];
  /** Agents that wait for the end of a turn; this run does not try to replace them. */
  readonly waiting: readonly WaitingAgent[];
  /** By unit of a step `replace`: what holds if its agent has a turn. */
  readonly ifBusy: ReadonlyMap<string, WaitingAgent & { readonly recorded: RecordedUnit }>;
  /** The daemon keeps running with older inputs, because it must outlive this run. */
  readonly isDaemonStale: boolean;
}

/** An agent whose old version runs until the end of its turn. */
export interface WaitingAgent {
  readonly agent: AgentName;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/**
 * Start order. The daemon is last, because it may be the parent of this process. The team-chat
 * receiver starts after the sender, because it takes over an address that a single unit used.
 */
const START_ORDER: Readonly<Record<DesiredUnit["kind"], number>> = {
  mcp: 0,
  gateway: 1,
  login: 2,
  teamchat: 3,
  "teamchat-receiver": 4,
  dial: 5,
  host: 6,
  daemon: 7,
};

/** Plans the unit steps; `created` are units whose files are new in this run. */
export function planUnits(
  desired: Desired,
  observed: Observed,
  context: {
    readonly record: RenderRecord;
    readonly restartAgents: boolean;
    readonly replaceNow: boolean;
    readonly now: number;
    readonly keepDaemon: boolean;
    readonly created: ReadonlySet<string>;
    /** Agents whose client configs could not be edited: a restart would have no use. */
    readonly unsettled: ReadonlySet<AgentName>;
    readonly changedEntries: ReadonlyMap<AgentName, readonly string[]>;
  },
): UnitPlan {
  const stops: UnitStep[] = [];
  const links: UnitStep[] = [];
  const steps: UnitStep[] = [];
  const recorded = new Map<string, RecordedUnit>();
  const restartPending: AgentName[] = [];
  const waiting: WaitingAgent[] = [];
  const ifBusy = new Map<string, WaitingAgent & { readonly recorded: RecordedUnit }>();
  let isDaemonStale = false;
  for (const unit of inStartOrder(desired.units)) {
    if (!observed.isManagerRunning) continue;
    if (unit.isStopped === true) {
      const off = stopUnit(unit, observed, context.record);
      stops.push(...off.stops);
      links.push(...off.links);
      recorded.set(unit.name, off.recorded);
      continue;
    }
    if (!observed.enabled.has(unit.name)) links.push({ kind: "enable", unit: unit.name });
    const state = stateOf(unit, observed, context.record);
    const isUnsettled = unit.agent !== undefined && unit.kind === "dial" &&
      context.unsettled.has(unit.agent);
    const act = decideAct(unit, state, {
      ...context,
      restartAgents: context.restartAgents && !(isUnsettled && state.isRunning),
    });
    if (act !== undefined) steps.push(stepOf(unit, act));
    const isFresh = act !== undefined || !state.isRunning;
    const before = context.record.units[unit.name];
    const changed = unit.kind === "dial" && unit.agent !== undefined
      ? context.changedEntries.get(unit.agent) ?? []
      : [];
    if (!isUnsettled) recorded.set(unit.name, recordOf(state, { isFresh, before, changed }));
    else if (before !== undefined) recorded.set(unit.name, before);
    if (unit.kind === "daemon" && !isFresh && state.isHardStale) isDaemonStale = true;
    if (unit.agent === undefined) continue;
    const wait = { agent: unit.agent, since: state.waitsSince ?? context.now };
    if (act === "replace") {
      const kept = { ...state, waitsSince: wait.since };
      const busy = recordOf(kept, { isFresh: false, before, changed });
      ifBusy.set(unit.name, { ...wait, recorded: busy });
    } else if (!isFresh && state.isHardStale && state.waitsSince !== undefined) waiting.push(wait);
    else if (unit.kind === "dial" && !isFresh && state.isStale) restartPending.push(unit.agent);
  }
  return {
    enabling: [...stops, ...byKind(links)],
    steps,
    recorded,
    restartPending,
    waiting,
    ifBusy,
    isDaemonStale,
  };
}

/** What is done to a unit; `replace-due` restarts a dial unit during a turn, too. */
type Act = "start" | "restart" | "bounce" | "replace" | "replace-due";

function stepOf(unit: DesiredUnit, act: Act): UnitStep {
  const { name, agent, kind } = unit;
  if (act !== "replace" && act !== "replace-due") {
    return { kind: act, unit: name, isIndependent: kind === "dial" };
  }
  if (agent === undefined) throw new Error(`unit ${name} belongs to no agent`);
  const isDue = act === "replace-due";
  return { kind: "replace", unit: name, agent, isDue, isIndependent: true };
}

/** Consecutive steps of one kind become one call. */
function byKind(steps: readonly UnitStep[]): readonly UnitStep[] {
  return [...steps].sort((a, b) => a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0);
}

function inStartOrder(units: readonly DesiredUnit[]): readonly DesiredUnit[] {
  return units.toSorted((a, b) =>
    START_ORDER[a.kind] - START_ORDER[b.kind] || (a.name < b.name ? -1 : 1)
  );
}

/** Plans a unit that is stopped on purpose. */
function stopUnit(unit: DesiredUnit, observed: Observed, record: RenderRecord) {
  const step = (kind: "stop" | "disable"): UnitStep => ({
    kind,
    unit: unit.name,
    ...(kind === "stop" ? { isIndependent: true } : {}),
  });
  const state = stateOf(unit, observed, record);
  return {
    stops: isDown(unit, observed) ? [] : [step("stop")],
    // A boot starts enabled units.
    links: observed.enabled.has(unit.name) ? [step("disable")] : [],
    recorded: recordOf(state, { isFresh: true, before: undefined, changed: [] }),
  };
}

function isDown(unit: DesiredUnit, observed: Observed): boolean {
  const status = observed.units.get(unit.name);
  return status === undefined || status.load === "not-found" ||
    status.active === "inactive" || status.active === "failed";
}

interface UnitState {
  readonly isRunning: boolean;
  readonly run: ProcessIdentity;
  readonly hashes: InputHashes;
  /** What its process was started with; undefined if that is unknown. */
  readonly ran: Origin | undefined;
  /** Since when its process waits for the end of a turn. */
  readonly waitsSince: number | undefined;
  /** It is ready to serve turns. */
  readonly isServing: boolean;
  /** Its process was started with other inputs. */
  readonly isHardStale: boolean;
  readonly isSoftStale: boolean;
  readonly isStale: boolean;
  /** It runs, but has never been ready. */
  readonly isUnready: boolean;
}

function stateOf(unit: DesiredUnit, observed: Observed, record: RenderRecord): UnitState {
  const status = observed.units.get(unit.name);
  const run = { pid: status?.mainPid, since: status?.since };
  const hashes = observed.hashes.get(unit.name) ?? { inputs: "", softInputs: "" };
  const before = record.units[unit.name];
  const isRunning = isUp(status);
  const isUnready = isRunning && observed.unready.has(unit.name);
  // Only a restart of the unit recreates the socket.
  const isSocketBroken = observed.socketFaults.has(unit.name);
  const isHardStale = isRunning &&
    (isUnready || isSocketBroken || before?.inputs !== hashes.inputs ||
      isSameRun(before.stale, run));
  const isSoftStale = isRunning &&
    (before?.softInputs !== hashes.softInputs || isSameRun(before.softStale, run));
  const isStale = isHardStale || isSoftStale;
  const isKnownStale = isSameRun(before?.stale, run);
  return {
    isRunning,
    run,
    hashes,
    ran: isKnownStale ? before?.ran : before?.origin,
    waitsSince: isKnownStale ? before?.waitsSince : undefined,
    isServing: !isUnready && !isSocketBroken &&
      ownUnits(unit).every((name) => observed.units.get(name)?.active === "active"),
    isHardStale,
    isSoftStale,
    isStale,
    isUnready,
  };
}

/** Returns the units without which a unit serves no turn. */
function ownUnits({ name, kind, agent }: DesiredUnit): readonly string[] {
  return kind === "mcp" && agent !== undefined ? [name, dialUnit(agent)] : [name];
}

/** A unit that waits for its automatic restart counts as running: it must not be started twice. */
function isUp(status: UnitStatus | undefined): boolean {
  return status !== undefined && (status.active === "active" || status.active === "activating");
}

const DIAL_ACTS: Readonly<Record<Replacement, Act>> = {
  "at-once": "restart",
  "when-idle": "replace",
  "during-turn": "replace-due",
};
/** A socket tells no owner: its calls fail, and the turn goes on. */
const SOCKET_ACTS: Readonly<Record<Replacement, Act>> = {
  "at-once": "bounce",
  "when-idle": "replace",
  "during-turn": "bounce",
};

function decideAct(
  unit: DesiredUnit,
  state: UnitState,
  context: {
    readonly restartAgents: boolean;
    readonly replaceNow: boolean;
    readonly now: number;
    readonly keepDaemon: boolean;
    readonly created: ReadonlySet<string>;
  },
): Act | undefined {
  if (!state.isRunning) {
    const mayStart = unit.kind !== "dial" || context.restartAgents ||
      context.created.has(unit.name);
    return mayStart ? "start" : undefined;
  }
  const replacement = () =>
    decideReplacement({
      ...state,
      wanted: state.hashes.origin,
      now: context.now,
      isWantedNow: context.replaceNow,
    });
  switch (unit.kind) {
    case "mcp": {
      const act = state.isHardStale ? SOCKET_ACTS[replacement()] : undefined;
      // Its agent waits, too: only a run that restarts agents asks whether they have a turn.
      return act === "replace" && !context.restartAgents ? undefined : act;
    }
    case "dial":
      return state.isHardStale && context.restartAgents ? DIAL_ACTS[replacement()] : undefined;
    case "gateway":
    case "login":
    case "teamchat":
    case "teamchat-receiver":
    case "host":
      return state.isHardStale ? "restart" : undefined;
    case "daemon":
      return state.isHardStale && !context.keepDaemon ? "restart" : undefined;
  }
}

function recordOf(
  state: UnitState,
  of: {
    readonly isFresh: boolean;
    readonly before: RecordedUnit | undefined;
    /** Client entries that this run changes. */
    readonly changed: readonly string[];
  },
): RecordedUnit {
  const { inputs, softInputs, origin } = state.hashes;
  const { ran, waitsSince } = state;
  const { isFresh, before, changed } = of;
  const isStill = isSameRun(before?.stale, state.run);
  // The changed entries are known, unless a run stopped between the edit and its record.
  const known = isStill
    ? before?.unread
    : before?.inputs === inputs || changed.length > 0
    ? []
    : undefined;
  const unread = known === undefined ? undefined : [...new Set([...known, ...changed])].sort();
  return {
    inputs,
    softInputs,
    ...defined({ origin }),
    ...(!isFresh && state.isHardStale ? { stale: state.run, ...defined({ ran, waitsSince }) } : {}),
    ...(!isFresh && state.isHardStale && unread !== undefined ? { unread } : {}),
    ...(!isFresh && state.isSoftStale ? { softStale: state.run } : {}),
    ...(!isFresh && state.isUnready ? { unready: true } : {}),
  };
}
