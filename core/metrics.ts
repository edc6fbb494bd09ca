/**
 * Counters and gauges in the Prometheus text format. No I/O. A role declares its names with their
 * help in two tables; what is not declared does not compile.
 *
 * @module
 */

/** Labels of one sample; values must be few, never names of users. */
export type Labels = Readonly<Record<string, string>>;

/** Counting and reading. */
export interface MetricSet<Counter extends string, Gauge extends string> {
  count(name: Counter, labels?: Labels, by?: number): void;
  /** A gauge that is asked when the metrics are read. */
  gauge(name: Gauge, read: () => number): void;
  /** The current value of a counter. */
  value(name: Counter, labels?: Labels): number;
  render(): string;
}

/** Makes empty metrics; `prefix` stands before each name, the tables give the help. */
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
