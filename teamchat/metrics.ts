/**
 * Metrics of the team-chat gateway. No I/O.
 *
 * @module
 */

import { DIAL_COUNTERS, DIAL_GAUGES } from "core/dial/counts.ts";
import { createMetricSet, type MetricSet } from "core/metrics.ts";

const COUNTERS = {
  ...DIAL_COUNTERS,
  activities: "Activities by type and outcome.",
  tokens: "Connector tokens by result: fresh, cached, or why refused.",
  key_fetches: "Fetches of the connector's keys by result.",
  turns: "Turns by outcome.",
  sends: "Requests to the platform by kind and outcome.",
  deliveries: "Answers by outcome.",
  files: "Files by direction and outcome.",
  app_tokens: "App tokens requested, by result.",
} as const;
/** Name of a counter without its prefix and suffix. */
export type CounterName = keyof typeof COUNTERS;

const GAUGES = {
  ...DIAL_GAUGES,
  turns_open: "Turns that have not ended.",
  replies_open: "Answers being delivered.",
  sends_waiting: "Requests to the platform that wait for their turn.",
  spooled: "Activities that wait for the sender.",
  accept_seconds_max: "Longest time from a request to its durable write since the last scrape.",
} as const;
/** Name of a gauge without its prefix. */
export type GaugeName = keyof typeof GAUGES;

/** The gateway's counters and gauges. */
export type Metrics = MetricSet<CounterName, GaugeName>;

/** Creates empty metrics; those of the receiver have a different prefix. */
export function createMetrics(
  prefix: "fleetctl_teamchat" | "fleetctl_teamchat_receiver" = "fleetctl_teamchat",
): Metrics {
  return createMetricSet(prefix, { counters: COUNTERS, gauges: GAUGES });
}
