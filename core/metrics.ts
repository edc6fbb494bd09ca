/**
 * Counters and gauges in the Prometheus text format. A role declares its names and help texts in
 * two tables; an undeclared name does not compile. No I/O.
 *
 * @module
 */

/** Labels of one sample; values must come from a small set, never names of users. */
export type Labels = Readonly<Record<string, string>>;

/** Records and renders metrics. */
export interface MetricSet<Counter extends string, Gauge extends string> {
  count(name: Counter, labels?: Labels, by?: number): void;
  /** Registers a gauge; `read` is called when the metrics are rendered. */
  gauge(name: Gauge, read: () => number): void;
  /** The current value of a counter. */
  value(name: Counter, labels?: Labels): number;
  render(): string;
}

/** Creates an empty set; `prefix` precedes each name, the tables contain the help texts. */
export function createMetricSet<Counter extends string, Gauge extends string>(
  prefix: string,
  tables: {
    readonly counters: Readonly<Record<Counter, string>>;
    readonly gauges: Readonly<Record<Gauge, string>>;
  },
): MetricSet<Counter, Gauge> {
  const counters = new Map<Counter, Map<string, number>>();
  const gauges = new Map<Gauge, () => number>();
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
      for (const [name, help] of Object.entries(tables.counters)) {
        const full = `${prefix}_${name}_total`;
        lines.push(`# HELP ${full} ${help}`, `# TYPE ${full} counter`);
        for (const [labels, value] of counters.get(name as Counter) ?? []) {
          lines.push(`${full}${labels} ${value}`);
        }
      }
      for (const [name, read] of gauges) {
        const full = `${prefix}_${name}`;
        const help = tables.gauges[name];
        lines.push(`# HELP ${full} ${help}`, `# TYPE ${full} gauge`, `${full} ${read()}`);
      }
      return `${lines.join("\n")}\n`;
    },
  };
}

function printLabels(labels: Labels): string {
  const names = Object.keys(labels);
  if (names.length === 0) return "";
  if (names.length > 1) names.sort();
  let text = "";
  for (const name of names) {
    text += `${text === "" ? "{" : ","}${name}=${JSON.stringify(labels[name])}`;
  }
  return `${text}}`;
}
