/**
 * Parses the output of `systemctl show --timestamp=us+utc`. No I/O.
 *
 * @module
 */

import type { UnitStatus } from "core/ports/unit.ts";

/** The requested properties. */
export const SHOWN_PROPERTIES = [
  "Id",
  "LoadState",
  "ActiveState",
  "MainPID",
  "StateChangeTimestamp",
  "Result",
  "ExecMainCode",
  "ExecMainStatus",
  "NRestarts",
] as const;

/** Names of the signals that end services, by number on Linux. */
const SIGNALS: Readonly<Record<number, string>> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  14: "SIGALRM",
  15: "SIGTERM",
  24: "SIGXCPU",
  25: "SIGXFSZ",
  31: "SIGSYS",
};

/** Parses blocks of `Key=value` lines, one block per unit, separated by empty lines. */
export function parseUnitStatus(text: string): readonly UnitStatus[] {
  return text.split(/\n{2,}/)
    .map((block) => block.trim())
    .filter((block) => block !== "")
    .map((block) => toStatus(parseBlock(block)));
}

function parseBlock(block: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const line of block.split("\n")) {
    const equals = line.indexOf("=");
    if (equals > 0) values.set(line.slice(0, equals), line.slice(equals + 1));
  }
  return values;
}

/**
 * Parses `Sat 2026-11-21 11:17:01.412412 UTC`; keeps fractions of a second, for comparison with
 * file times.
 */
function toMs(text: string | undefined): number | undefined {
  const [, day, time] =
    /^\w{3} (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d\.\d{3})\d* UTC$/.exec(text ?? "") ?? [];
  return day === undefined ? undefined : Date.parse(`${day}T${time}Z`);
}

function toStatus(values: ReadonlyMap<string, string>): UnitStatus {
  const pid = Number(values.get("MainPID") ?? "0");
  return {
    unit: values.get("Id") ?? "",
    load: toLoad(values.get("LoadState")),
    active: toActive(values.get("ActiveState")),
    mainPid: Number.isInteger(pid) && pid > 0 ? pid : undefined,
    since: toMs(values.get("StateChangeTimestamp")),
    reason: toReason(values),
    restarts: Number(values.get("NRestarts") ?? "0") || 0,
  };
}

/** A masked or broken unit cannot run; callers treat that as `not-found`. */
function toLoad(state: string | undefined): UnitStatus["load"] {
  return state === "loaded" ? "loaded" : "not-found";
}

function toActive(state: string | undefined): UnitStatus["active"] {
  switch (state) {
    case "active":
    case "activating":
    case "deactivating":
    case "failed":
      return state;
    case "reloading":
    case "refreshing":
      return "active";
    default:
      return "inactive";
  }
}

/**
 * Returns `exit-code 1`, `signal SIGKILL`, `out of memory` or `start-limit-hit`; undefined after
 * success.
 */
function toReason(values: ReadonlyMap<string, string>): string | undefined {
  const result = values.get("Result") ?? "success";
  if (result === "success" || result === "") return undefined;
  const status = Number(values.get("ExecMainStatus") ?? "0");
  if (result === "exit-code") return `exit-code ${status}`;
  if (result === "signal" || result === "core-dump") {
    return `${result} ${SIGNALS[status] ?? status}`;
  }
  // systemd.exec(5): the kernel killed a process of the unit because memory ran out.
  return result === "oom-kill" ? "out of memory" : result;
}
