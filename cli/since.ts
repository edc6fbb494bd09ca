/**
 * Points in time as people type them: a span before now (`2h`), or a UTC time. Pure.
 *
 * @module
 */

import { parseDuration } from "core/text/duration.ts";

/** A span before now, or a point in time. */
export type Since = { readonly agoMs: number } | { readonly atMs: number };

/** Parses a span, or a UTC date with or without a time; undefined for anything else. */
export function parseSince(text: string): Since | undefined {
  const span = parseDuration(text);
  if (span.ok) return { agoMs: span.value };
  const isTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z)?$/.test(text);
  const atMs = isTime ? Date.parse(text) : NaN;
  return Number.isNaN(atMs) ? undefined : { atMs };
}

/** Returns the point in time, in milliseconds since the epoch. */
export function sinceMs(since: Since, now: number): number {
  return "atMs" in since ? since.atMs : now - since.agoMs;
}
