/**
 * Metrics of the gateway. No I/O.
 *
 * @module
 */

import { DIAL_COUNTERS, DIAL_GAUGES } from "core/dial/counts.ts";
import { createMetricSet, type MetricSet } from "core/metrics.ts";

const COUNTERS = {
  ...DIAL_COUNTERS,
  turns: "Turns queued.",
  messages: "Messages between agents by result.",
  approvals: "Decisions about approvals by result.",
  questions: "Answers to questions by result.",
  requests: "Cockpit requests by route and status.",
  streams: "Event streams by what happened: opened, closed, lagged.",
  previews: "Previews to clients by result: sent, dropped.",
} as const;
/** Name of a counter without its prefix and suffix. */
export type CounterName = keyof typeof COUNTERS;

const GAUGES = {
  ...DIAL_GAUGES,
  streams_open: "Event streams open.",
  fullest_share: "Largest fraction of its disk share that any agent uses; 1 is full.",
  roster_damaged: "1 while the file of WEBVIEW_LEDGER cannot be used; the last roster stays.",
} as const;
/** Name of a gauge without its prefix. */
export type GaugeName = keyof typeof GAUGES;

/** The gateway's counters and gauges. */
export type Metrics = MetricSet<CounterName, GaugeName>;

/** Creates empty metrics. */
export function createMetrics(): Metrics {
  return createMetricSet("fleetctl_gateway", { counters: COUNTERS, gauges: GAUGES });
}
