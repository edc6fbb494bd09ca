/**
 * Counters and gauges of the gateway in the Prometheus text format. No I/O.
 *
 * @module
 */

/** Labels of one sample; values must be few, never names of users. */
export type Labels = Readonly<Record<string, string>>;

/** Counting and reading. */
export interface Metrics {
  count(name: CounterName, labels?: Labels, by?: number): void;
  /** A gauge that is asked when the metrics are read. */
  gauge(name: GaugeName, read: () => number): void;
  /** The current value of a counter. */
  value(name: CounterName, labels?: Labels): number;
  render(): string;
}

const COUNTERS = {
  registers: "Register frames by result and reason.",
  events: "Events of agents by result: stored, repeated, foreign.",
  turns: "Turns queued.",
  messages: "Messages between agents by result.",
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

/** Makes empty metrics. */
export function createMetrics(): Metrics {
  const counters = new Map<CounterName, Map<string, number>>();
  const gauges = new Map<GaugeName, () => number>();
  return {
    count: (name, labels = {}, by = 1) => {
      const series = counters.get(name) ?? new Map<string, number>();
      counters.set(name, series);
      const key = printLabels(labels);
      series.set(key, (series.get(key) ?? 0) + by);
    },
    gauge: (name, read) => {
      gauges.set(name, read);
    },
    value: (name, labels = {}) => counters.get(name)?.get(printLabels(labels)) ?? 0,
    render: () => {
      const lines: string[] = [];
      for (const [name, help] of Object.entries(COUNTERS)) {
        const full = `fleetctl_gateway_${name}_total`;
        lines.push(`# HELP ${full} ${help}`, `# TYPE ${full} counter`);
        for (const [labels, value] of counters.get(name as CounterName) ?? []) {
          lines.push(`${full}${labels} ${value}`);
        }
      }
      for (const [name, read] of gauges) {
        const full = `fleetctl_gateway_${name}`;
        lines.push(`# HELP ${full} ${GAUGES[name]}`, `# TYPE ${full} gauge`, `${full} ${read()}`);
      }
      return `${lines.join("\n")}\n`;
    },
  };
}

function printLabels(labels: Labels): string {
  const parts = Object.entries(labels).sort(([a], [b]) => a < b ? -1 : 1).map(([name, value]) =>
    `${name}=${JSON.stringify(value)}`
  );
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
}
