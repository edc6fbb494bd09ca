/**
 * Measuring for `./dev bench`: runs subjects in turn, so that noise of the machine affects all of
 * them, and reports medians and ratios.
 *
 * @module
 */

/** Returns a quantile of a list of numbers, by nearest rank. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? NaN;
}

/** Processor time since the boot of the machine, in ticks. */
export interface Ticks {
  readonly all: number;
  /**
   * Time that other guests of the same hardware used while this one had work (`proc_stat(5)`,
   * `steal`).
   */
  readonly stolen: number;
}

/** Reads the ticks of this machine. */
export async function readTicks(): Promise<Ticks> {
  const [line = ""] = (await Deno.readTextFile("/proc/stat")).split("\n");
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
  return { all: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 };
}

/** Returns the percentage of processor time that other guests used between two readings. */
export function stolenPercent(from: Ticks, to: Ticks): number {
  return to.all === from.all ? 0 : (to.stolen - from.stolen) * 100 / (to.all - from.all);
}

/** A subject: its name and the function to time. */
export interface Subject {
  readonly name: string;
  readonly run: () => Promise<void>;
}

/** Runs each subject `rounds` times in turn, after one warm-up round. Times are in milliseconds. */
export async function inTurn(
  subjects: readonly Subject[],
  rounds: number,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const times = new Map<string, number[]>(subjects.map((subject) => [subject.name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const subject of subjects) {
      const started = performance.now();
      await subject.run();
      if (round >= 0) times.get(subject.name)?.push(performance.now() - started);
    }
  }
  return times;
}

/** Runs a program to its end; throws with its output when it fails. */
export async function runProgram(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const output = await new Deno.Command(command, {
    args: [...args],
    env: { ...env },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!output.success) {
    throw new Error(`${command} ${args.join(" ")}: ${new TextDecoder().decode(output.stderr)}`);
  }
}

/** Prints one row per subject: median, p99 and the ratio of its median to the first one's. */
export function printTable(times: ReadonlyMap<string, readonly number[]>): void {
  const [first] = times.values();
  const base = quantile(first ?? [], 0.5);
  console.log("| subject | runs | median ms | p99 ms | ratio |");
  console.log("|---|---|---|---|---|");
  for (const [name, values] of times) {
    const median = quantile(values, 0.5);
    console.log(
      `| ${name} | ${values.length} | ${median.toFixed(1)} | ${
        quantile(values, 0.99).toFixed(1)
      } ` +
        `| ${(median / base).toFixed(2)} |`,
    );
  }
}
