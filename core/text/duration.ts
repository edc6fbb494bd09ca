/**
 * Spans of time as people and settings write them: `30d`, `15m`, `1h30m`, `500ms`.
 * No I/O and no clock. Used by settings such as `WEBVIEW_SESSION_TTL`.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

/** Units from large to small; a duration names each at most once and in this order. */
const UNITS = [
  ["w", 7 * 24 * 3_600_000],
  ["d", 24 * 3_600_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
] as const;

const WANTED = 'must be numbers with units, such as "30d", "15m" or "1h30m"';

/** Parses a duration into milliseconds; `0` needs no unit, everything else does. */
export function parseDuration(text: string): Result<number> {
  const given = text.trim();
  if (given === "0") return ok(0);
  const parts = given.match(/^(?:\d+(?:\.\d+)?(?:ms|[wdhms]))+$/) === null
    ? []
    : [...given.matchAll(/(\d+(?:\.\d+)?)(ms|[wdhms])/g)];
  let total = 0;
  let last = -1;
  for (const [, amount, unit] of parts) {
    const at = UNITS.findIndex(([name]) => name === unit);
    if (at <= last) return bad(text, `unit "${unit}" is out of order or given twice`);
    last = at;
    total += Number(amount) * (UNITS[at]?.[1] ?? 0);
  }
  if (last === -1) return bad(text, WANTED);
  const ms = Math.round(total);
  return Number.isSafeInteger(ms) ? ok(ms) : bad(text, "it is too long");
}

function bad(text: string, why: string): Result<never> {
  const shown = JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
  return err(
    refusal("duration-invalid", `Cannot use ${shown} as a duration: ${why}`, { kind: "usage" }),
  );
}

/** Prints milliseconds so that `parseDuration` gives them back: `1h30m`, `0s`. */
export function printDuration(ms: number): string {
  let left = Math.max(0, Math.round(ms));
  if (left === 0) return "0s";
  let text = "";
  for (const [name, size] of UNITS) {
    // Weeks are understood, but days are what people expect to read: `30d`.
    if (name === "w") continue;
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) text += `${count}${name}`;
  }
  return text;
}
