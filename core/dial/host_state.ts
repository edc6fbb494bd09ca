/**
 * The state of an agent as its own host sees it: from the service manager's status of its dial
 * unit, and from the state file that the unit writes. `offline` is derived by the gateway and does
 * not occur here. No I/O, no clock.
 *
 * | unit | state file | state |
 * |---|---|---|
 * | not found, inactive, or no service manager answers | | `stopped` |
 * | activating | | `starting`; `failed` while it waits for a restart after a fault |
 * | active | of this run | as written |
 * | active | none since its start | `starting`, then `idle` if the program writes no file |
 * | deactivating | | `stopping` |
 * | failed | | `failed` |
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { AGENT_STATES, type AgentState } from "core/dial/event.ts";
import type { UnitStatus } from "core/ports/unit.ts";
import { isRecord, parseJsonObject } from "core/text/json_object.ts";

/** Contents of a dial unit's state file. */
export interface ReportedState {
  /** When the writing program started, in milliseconds since the epoch. */
  readonly startedMs: number;
  readonly state: AgentState;
  readonly sinceMs: number;
  readonly reason: string | undefined;
  /** Absent from a dial unit that has no sandbox, or does not know of any. */
  readonly sandbox?: ReportedSandbox;
}

/** Whether commands run in a sandbox, as the dial unit tried it at its start. */
export interface ReportedSandbox {
  /** Why it cannot be built; every command is then refused. */
  readonly fault: string | undefined;
}

/** A state with its reason and start time. */
export interface HostState {
  readonly state: AgentState;
  readonly reason: string | undefined;
  readonly sinceMs: number | undefined;
  /** The sandbox of the running dial unit; absent without one. */
  readonly sandbox?: ReportedSandbox;
}

/** Name of the file in the folder of the dial unit. */
export const STATE_FILE = "state.json";
/** Largest file that is read; the agent controls its content. */
export const STATE_FILE_BYTES_MAX = 4_096;
const REASON_LENGTH_MAX = 500;
/** A dial unit that writes a state file does so within this time, in milliseconds. */
const FIRST_REPORT_MS = 30_000;
/** Tolerance: the service manager and the program read the clock at slightly different times. */
const CLOCK_SLACK_MS = 1_000;

/** Prints the state file. */
export function printReportedState(reported: ReportedState): string {
  const { startedMs, state, sinceMs, reason, sandbox } = reported;
  return `${
    JSON.stringify({
      started: startedMs,
      state,
      since: sinceMs,
      ...defined({
        reason: reason?.slice(0, REASON_LENGTH_MAX),
        sandbox: sandbox && defined({ fault: sandbox.fault?.slice(0, REASON_LENGTH_MAX) }),
      }),
    })
  }\n`;
}

/**
 * Parses a state file; returns undefined if it is invalid, because the agent controls its content.
 */
export function parseReportedState(text: string): ReportedState | undefined {
  const reported = parseJsonObject(text);
  if (reported === undefined) return undefined;
  const { started, state, since, reason } = reported;
  const known = AGENT_STATES.find((one) => one === state);
  if (known === undefined || !isMoment(started) || !isMoment(since)) return undefined;
  if (reason !== undefined && typeof reason !== "string") return undefined;
  return {
    startedMs: started,
    state: known,
    sinceMs: since,
    reason: reason?.slice(0, REASON_LENGTH_MAX),
    ...defined({ sandbox: sandboxOf(reported.sandbox) }),
  };
}

function sandboxOf(value: unknown): ReportedSandbox | undefined {
  if (!isRecord(value)) return undefined;
  const { fault } = value;
  return { fault: typeof fault === "string" ? fault.slice(0, REASON_LENGTH_MAX) : undefined };
}

function isMoment(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 &&
    value <= 8.64e15;
}

/** Returns the state of an agent on its host. */
export function stateOnHost(seen: {
  /** When the agent was stopped on purpose (`agents stop`), according to the ledger. */
  readonly stopped: string | undefined;
  /** Undefined if no service manager answers. */
  readonly unit: UnitStatus | undefined;
  readonly reported: ReportedState | undefined;
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
        : state("failed", `${unit.reason}, restarting`, unit.since);
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

/** Tells whether a program that started at `startedMs` belongs to the current run of its unit. */
export function isFromCurrentRun(startedMs: number, { since }: Pick<UnitStatus, "since">): boolean {
  return since === undefined || startedMs >= since - CLOCK_SLACK_MS;
}

function ofActive(
  unit: UnitStatus,
  { reported, now }: { readonly reported: ReportedState | undefined; readonly now: number },
): HostState {
  if (reported !== undefined && isFromCurrentRun(reported.startedMs, unit)) {
    const { state: name, reason, sinceMs, sandbox } = reported;
    return { ...state(name, reason, sinceMs), ...defined({ sandbox }) };
  }
  const isNew = unit.since !== undefined && now - unit.since < FIRST_REPORT_MS;
  return isNew
    ? state("starting", undefined, unit.since)
    : state("idle", "its dial unit reports no state", unit.since);
}

function state(
  name: AgentState,
  reason: string | undefined,
  sinceMs?: number | undefined,
): HostState {
  return { state: name, reason, sinceMs };
}
