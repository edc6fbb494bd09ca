/**
 * Metrics that all dial-in gateways share; each gateway adds its own. No I/O.
 *
 * @module
 */

import type { MetricSet } from "core/metrics.ts";

/** Counters with their help texts. */
export const DIAL_COUNTERS = {
  registers: "Registrations by result and reason.",
  refused: "Upgrades that were refused.",
  evicted: "Unregistered connections that were evicted for a newer one.",
  skipped: "Frames of unknown type.",
  events: "Events of agents by result: stored, repeated, foreign.",
  paced: "Times that reading from an agent above its rate limit was paused.",
} as const;

/** Gauges with their help texts. */
export const DIAL_GAUGES = {
  agents: "Agents connected.",
  unregistered: "Connections that have not registered yet.",
} as const;

/** The counting interface of any metric set that contains these names. */
export type DialCounts = Pick<MetricSet<keyof typeof DIAL_COUNTERS, never>, "count">;
