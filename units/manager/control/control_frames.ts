/**
 * The frames of the manager's control socket: one JSON object per line, a request and its answer.
 * Pure. Frames contain no secrets: unit names, and log lines for the same user.
 *
 * | verb | fields | answer |
 * |------|--------|--------|
 * | `start`, `stop`, `restart`, `enable`, `disable` | `unit` | `null` |
 * | `reload` | – | `null` |
 * | `status` | `units` | list of unit states |
 * | `journal` | `unit`, `lines` | list of lines |
 *
 * @module
 */

import type { UnitStatus } from "core/ports/unit.ts";
import { parseJsonObject } from "core/text/json_object.ts";
import { ServiceFault } from "units/manager/service_manager.ts";

/** Limits of the protocol. */
export const CONTROL_LIMITS = {
  requestBytesMax: 64 * 1024,
  answerBytesMax: 8 * 1024 * 1024,
  unitsMax: 1000,
  unitLengthMax: 255,
  /** A connection that sends nothing is closed after this. */
  idleMs: 10_000,
  connectionsMax: 32,
} as const;

const UNIT_VERBS = ["start", "stop", "restart", "enable", "disable"] as const;

/** A request. */
export type ControlRequest =
  | { readonly verb: (typeof UNIT_VERBS)[number]; readonly unit: string }
  | { readonly verb: "reload" }
  | { readonly verb: "status"; readonly units: readonly string[] }
  | { readonly verb: "journal"; readonly unit: string; readonly lines: number };

/** An answer. */
export type ControlAnswer =
  | { readonly ok: true; readonly value: null | readonly UnitStatus[] | readonly string[] }
  | {
    readonly ok: false;
    readonly unit: string;
    readonly message: string;
    readonly journal: readonly string[];
  };

/** Parses one line as a request; returns undefined when it is not a valid one. */
export function parseRequest(line: string): ControlRequest | undefined {
  const value = parseJsonObject(line);
  if (value === undefined) return undefined;
  const { verb, unit, units, lines } = value;
  if (verb === "reload") return { verb };
  if (verb === "status") return isUnits(units) ? { verb, units } : undefined;
  if (!isUnit(unit)) return undefined;
  if (verb === "journal") {
    return typeof lines === "number" && Number.isSafeInteger(lines) && lines >= 0
      ? { verb, unit, lines }
      : undefined;
  }
  const known = UNIT_VERBS.find((name) => name === verb);
  return known === undefined ? undefined : { verb: known, unit };
}

/** Parses one line as an answer; returns undefined when it is not a valid one. */
export function parseAnswer(line: string): ControlAnswer | undefined {
  const value = parseJsonObject(line);
  if (value?.["ok"] === true) return value as unknown as ControlAnswer;
  const isFault = value?.["ok"] === false && typeof value["unit"] === "string" &&
    typeof value["message"] === "string" && Array.isArray(value["journal"]);
  return isFault ? value as unknown as ControlAnswer : undefined;
}

/** Converts a thrown value into an answer. */
export function faultAnswer(thrown: unknown): ControlAnswer {
  if (thrown instanceof ServiceFault) {
    return { ok: false, unit: thrown.unit, message: thrown.message, journal: thrown.journal };
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { ok: false, unit: "", message, journal: [] };
}

function isUnit(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= CONTROL_LIMITS.unitLengthMax;
}

function isUnits(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= CONTROL_LIMITS.unitsMax && value.every(isUnit);
}
