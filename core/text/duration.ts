/**
 * Durations as people and settings write them: `30d`, `15m`, `1h30m`, `500ms`. No I/O and no clock.
 * Used by settings such as `WEBVIEW_SESSION_TTL`.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

/** Durations in milliseconds. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Units from large to small; a duration uses each at most once, in this order. */
const UNITS = [
  ["w", 7 * DAY_MS],
  ["d", DAY_MS],
  ["h", HOUR_MS],
  ["m", MINUTE_MS],
  ["s", 1_000],
  ["ms", 1],
] as const;

const WANTED = 'must be numbers with units, such as "30d", "15m" or "1h30m"';

/** Parses a duration to milliseconds; only `0` may omit the unit. */
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
