/**
 * The spend ceilings of a host as root publishes them for dial units: the sums of all agents, and
 * when they were taken. Pure.
 *
 * @module
 */

import * as z from "zod";
import { type CeilingView, ceilingView } from "core/dial/local_frames.ts";
import { parseJsonObject } from "core/text/json_object.ts";
import { PERIODS, SPEND_UNITS } from "core/usage/ceiling.ts";

/** The published file. */
const published = z.object({
  /** In milliseconds since the epoch. */
  summed_at: z.number(),
  ceilings: z.array(ceilingView).max(PERIODS.length * SPEND_UNITS.length),
});
/** Ceilings of a host in their current periods. */
export type HostCeilings = z.infer<typeof published>;

/** Time between two sums: a sum starts a program, so a shorter time costs a small host too much. */
export const HOST_SUM_SECONDS = 30;
/** Age from which sums no longer count: ten sums have then failed. */
const HOST_SUM_SECONDS_MAX = 300;

/** Parses the published file; undefined for a damaged one. */
export function parseHostCeilings(text: string): HostCeilings | undefined {
  const parsed = published.safeParse(parseJsonObject(text));
  return parsed.success ? parsed.data : undefined;
}

/** Prints the file that `parseHostCeilings` reads. */
export function printHostCeilings(of: HostCeilings): string {
  return `${JSON.stringify(of)}\n`;
}

/** Whether the sums are too old. A time in the future means that the clock was set back. */
export function areSumsOld({ summed_at }: HostCeilings, now: number): boolean {
  return Math.abs(now - summed_at) > HOST_SUM_SECONDS_MAX * 1_000;
}

/** Returns the first ceiling that stops every agent; one whose period has ended does not. */
export function stoppingHostCeiling(
  { ceilings }: HostCeilings,
  now: number,
): CeilingView | undefined {
  return ceilings.find(({ level, until }) =>
    (level === "reached" || level === "unpriced") && now < until
  );
}
