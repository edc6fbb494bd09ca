/**
 * Reads the scalar values of unit files: truth values, time spans, sizes, file modes, signals,
 * exit statuses. No I/O. Syntax: systemd.syntax(7), systemd.time(7), systemd.resource-control(5).
 *
 * @module
 */

import { err, ok } from "core/result.ts";
import type { Read } from "units/manager/units/words.ts";

const MS_OF_UNIT: Readonly<Record<string, number>> = {
  us: 0.001,
  usec: 0.001,
  ms: 1,
  msec: 1,
  "": 1000,
  s: 1000,
  sec: 1000,
  second: 1000,
  seconds: 1000,
  m: 60_000,
  min: 60_000,
  minute: 60_000,
  minutes: 60_000,
  h: 3_600_000,
  hr: 3_600_000,
  hour: 3_600_000,
  hours: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  days: 86_400_000,
  w: 604_800_000,
  week: 604_800_000,
  weeks: 604_800_000,
};
const BYTES_OF_UNIT: Readonly<Record<string, number>> = {
  "": 1,
  B: 1,
  K: 2 ** 10,
  M: 2 ** 20,
  G: 2 ** 30,
  T: 2 ** 40,
};

/** Signal names without `SIG`, with their numbers on Linux. */
export const SIGNALS: Readonly<Record<string, number>> = {
  HUP: 1,
  INT: 2,
  QUIT: 3,
  ABRT: 6,
  KILL: 9,
  USR1: 10,
  USR2: 12,
  PIPE: 13,
  TERM: 15,
};

/** Reads `yes`, `true`, `on`, `1` and their opposites. */
export function readFlag(value: string): Read<boolean> {
  const word = value.toLowerCase();
  if (["1", "yes", "y", "true", "t", "on"].includes(word)) return ok(true);
  if (["0", "no", "n", "false", "f", "off"].includes(word)) return ok(false);
  return err("must be yes or no");
}

/** Reads a time span in milliseconds; `infinity` is `Infinity`. */
export function readSpanMs(value: string): Read<number> {
  if (value === "infinity") return ok(Infinity);
  const fault = err('must be a time span such as "5s", "1min 30s" or "infinity"');
  const parts = [...value.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]*)\s*/gy)];
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== value) return fault;
  let total = 0;
  for (const [, number, unit] of parts) {
    const factor = MS_OF_UNIT[unit ?? ""];
    if (factor === undefined) return fault;
    total += Number(number) * factor;
  }
  return ok(total);
}

/** Reads a size in bytes; `infinity` is `Infinity`. */
export function readBytes(value: string): Read<number> {
  if (value === "infinity") return ok(Infinity);
  const [whole, number, unit] = /^(\d+)\s*([BKMGT]?)$/.exec(value) ?? [];
  const bytes = Number(number) * (BYTES_OF_UNIT[unit ?? ""] ?? NaN);
  return whole !== undefined && Number.isSafeInteger(bytes)
    ? ok(bytes)
    : err('must be a size such as "512M" or "infinity"');
}

/** Reads a count. */
export function readCount(value: string): Read<number> {
  return /^\d{1,9}$/.test(value) ? ok(Number(value)) : err("must be a whole number");
}

/** Reads permission bits in octal. */
export function readMode(value: string): Read<number> {
  return /^[0-7]{3,4}$/.test(value) && parseInt(value, 8) <= 0o777
    ? ok(parseInt(value, 8))
    : err('must be octal permission bits such as "0660"');
}

/** Reads one of a list of words. */
export function readChoice<T extends string>(value: string, choices: readonly T[]): Read<T> {
  const found = choices.find((choice) => choice === value);
  return found === undefined ? err(`must be one of ${choices.join(", ")}`) : ok(found);
}

/** Reads a signal name, with or without `SIG`; returns it with `SIG`. */
export function readSignal(value: string): Read<string> {
  const name = value.replace(/^SIG/, "");
  return SIGNALS[name] === undefined
    ? err(`must be one of ${Object.keys(SIGNALS).map((known) => `SIG${known}`).join(", ")}`)
    : ok(`SIG${name}`);
}

/** Reads exit codes and signals separated by spaces. */
export function readStatuses(value: string): Read<ReadonlySet<number | string>> {
  const statuses = new Set<number | string>();
  for (const word of value.split(/\s+/).filter(Boolean)) {
    if (/^\d{1,3}$/.test(word) && Number(word) <= 255) {
      statuses.add(Number(word));
      continue;
    }
    const signal = readSignal(word);
    if (!signal.ok) return err(`${JSON.stringify(word)} is neither an exit code nor a signal`);
    statuses.add(signal.value);
  }
  return ok(statuses);
}
