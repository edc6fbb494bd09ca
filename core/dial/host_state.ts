/**
 * How an agent is doing as its own host sees it: what the service manager says of its dial unit,
 * and what that unit has written down. `offline` is the gateway's finding and not told here.
 * No I/O, no clock.
 *
 * | unit | written down | state |
 * |---|---|---|
 * | not there, inactive | | `stopped` |
 * | activating | | `starting`; `failed` while it waits to be started again after a fault |
 * | active | by this run | what was written |
 * | active | nothing yet | `starting` at first, then `idle`, for a program that writes nothing |
 * | deactivating | | `stopping` |
 * | failed | | `failed` |
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { AGENT_STATES, type AgentState } from "core/dial/event.ts";
import type { UnitStatus } from "core/ports/unit.ts";
import { parseJsonObject } from "core/text/json_object.ts";

/** What a dial unit has written into its state file. */
export interface ToldState {
  /** When the writing program started, in milliseconds since the epoch. */
  readonly startedMs: number;
  readonly state: AgentState;
  readonly sinceMs: number;
  readonly reason: string | undefined;
}

/** A state with why and since when. */
export interface HostState {
  readonly state: AgentState;
  readonly reason: string | undefined;
  readonly sinceMs: number | undefined;
}

/** Name of the file in the folder of the dial unit. */
export const STATE_FILE = "state.json";
/** The largest file that is looked at: it is the agent's to write. */
export const STATE_FILE_BYTES_MAX = 4_096;
const REASON_LENGTH_MAX = 500;
/** A dial unit that writes its state does so within this time. */
const FIRST_WORD_MS = 30_000;
/** The service manager and the program read the clock one after the other. */
const CLOCK_SLACK_MS = 1_000;

/** Prints the state file. */
export function printToldState(told: ToldState): string {
  const { startedMs, state, sinceMs, reason } = told;
  return `${
    JSON.stringify({
      started: startedMs,
      state,
      since: sinceMs,
      ...defined({ reason: reason?.slice(0, REASON_LENGTH_MAX) }),
    })
  }\n`;
}

/**
 * Parses a state file; undefined for anything that is none, because an agent may write
 * what it likes.
 */
export function parseToldState(text: string): ToldState | undefined {
  const told = parseJsonObject(text);
  if (told === undefined) return undefined;
  const { started, state, since, reason } = told;
  const known = AGENT_STATES.find((one) => one === state);
  if (known === undefined || !isMoment(started) || !isMoment(since)) return undefined;
  if (reason !== undefined && typeof reason !== "string") return undefined;
  return {
    startedMs: started,
    state: known,
    sinceMs: since,
    reason: reason?.slice(0, REASON_LENGTH_MAX),
  };
}

function isMoment(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 &&
    value <= 8.64e15;
}

/** Decides the state of an agent on its host. */
export function stateOnHost(seen: {
  /** When the agent was stopped on purpose (`agents stop`), as the ledger has it. */
  readonly stopped: string | undefined;
  /** Undefined when no service manager answers. */
  readonly unit: UnitStatus | undefined;
  readonly told: ToldState | undefined;
  readonly now: number;
}): HostState {
  const { unit, stopped } = seen;
  if (unit === undefined) return state("stopped", "no service manager runs");
  switch (unit.load === "not-found" ? "inactive" : unit.active) {
    case "active":
      return ofActive(unit, seen);
    case "activating":
      return unit.reason === undefined
        ? state("starting", undefined, unit.since)
        : state("failed", `${unit.reason}, starts again`, unit.since);
    case "deactivating":
      return state("stopping", undefined, unit.since);
    case "failed":
      return state("failed", unit.reason, unit.since);
    case "inactive":
      if (stopped !== undefined) return state("stopped", "by an operator", Date.parse(stopped));
      return unit.load === "not-found"
        ? state("stopped", "its unit is not installed")
        : state("stopped", "its unit is not running", unit.since);
  }
}

/** Whether a program that started then belongs to the run of its unit that goes on now. */
export function isOfThisRun(startedMs: number, { since }: Pick<UnitStatus, "since">): boolean {
  return since === undefined || startedMs >= since - CLOCK_SLACK_MS;
}

function ofActive(
  unit: UnitStatus,
  { told, now }: { readonly told: ToldState | undefined; readonly now: number },
): HostState {
  if (told !== undefined && isOfThisRun(told.startedMs, unit)) {
    return state(told.state, told.reason, told.sinceMs);
  }
  const isNew = unit.since !== undefined && now - unit.since < FIRST_WORD_MS;
  return isNew
    ? state("starting", undefined, unit.since)
    : state("idle", "its dial unit tells no state", unit.since);
}

function state(
  name: AgentState,
  reason: string | undefined,
  sinceMs?: number | undefined,
): HostState {
  return { state: name, reason, sinceMs };
}
