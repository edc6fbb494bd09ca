/**
 * What the gateway counts. No I/O.
 *
 * @module
 */

import { createMetricSet, type MetricSet } from "core/metrics.ts";

const COUNTERS = {
  registers: "Register frames by result and reason.",
  events: "Events of agents by result: stored, repeated, foreign.",
  turns: "Turns queued.",
  messages: "Messages between agents by result.",
  approvals: "Decisions about approvals by result.",
  requests: "Cockpit requests by route and status.",
  streams: "Event streams by what happened: opened, closed, lagged.",
  previews: "Previews to clients by result: sent, dropped.",
  skipped: "Frames of unknown type.",
  refused: "Upgrades that were refused.",
  evicted: "Connections that made room for another before they registered.",
} as const;
/** Name of a counter without its prefix and suffix. */
export type CounterName = keyof typeof COUNTERS;

const GAUGES = {
  agents: "Agents connected.",
  unregistered: "Connections that have not registered yet.",
  streams_open: "Event streams open.",
} as const;
/** Name of a gauge without its prefix. */
export type GaugeName = keyof typeof GAUGES;

/** Counting and reading. */
export type Metrics = MetricSet<CounterName, GaugeName>;

/** Makes empty metrics. */
export function createMetrics(): Metrics {
  return createMetricSet("fleetctl_gateway", { counters: COUNTERS, gauges: GAUGES });
}
