/**
 * Load for `./dev bench login`: keep-alive connections that ask one after the other, and the CPU time that
 * a set of processes used meanwhile. CPU time is steady on a busy machine; requests per second are not.
 *
 * @module
 */

/** What is asked. */
export interface Target {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Makes each request anew, for a subject that knows repetitions; its statuses are `good`. */
  readonly next?: () => Uint8Array<ArrayBuffer>;
  readonly good?: readonly number[];
}

/** What a round came to. */
export interface Round {
  readonly requests: number;
  readonly seconds: number;
  readonly cpuMicros: number;
  /** Milliseconds of each request. */
  readonly latencies: readonly number[];
}

const TICKS_PER_SECOND = 100;
const encoder = new TextEncoder();
const latin1 = new TextDecoder("latin1");

/** Microseconds of CPU that processes and all below them have used. */
export function cpuMicros(pids: readonly number[]): number {
  const stats = new Map<number, { readonly parent: number; readonly ticks: number }>();
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const text = Deno.readTextFileSync(`/proc/${name}/stat`);
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      stats.set(Number(name), {
        parent: Number(fields[1]),
        ticks: Number(fields[11]) + Number(fields[12]),
      });
    } catch {
      // It has ended.
    }
  }
  const isOurs = (pid: number): boolean =>
    pids.includes(pid) || (stats.has(pid) && pid > 1 && isOurs(stats.get(pid)?.parent ?? 0));
  let ticks = 0;
  for (const [pid, stat] of stats) if (isOurs(pid)) ticks += stat.ticks;
  return ticks * 1_000_000 / TICKS_PER_SECOND;
}

/** Asks over `connections` for `seconds`; `pace` is requests a second in all, as fast as it goes when 0. */
export async function runLoad(
  target: Target,
  of: {
    readonly pids: readonly number[];
    readonly connections: number;
    readonly seconds: number;
    readonly pace?: number;
  },
): Promise<Round> {
  const request = encoder.encode(
    [
      `GET ${target.path} HTTP/1.1`,
      "host: localhost",
      ...Object.entries(target.headers).map(([name, value]) => `${name}: ${value}`),
      "",
      "",
    ].join("\r\n"),
  );
  const latencies: number[] = [];
  let isCounting = false;
  let isOver = false;
  const one = async () => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: target.port });
    const buffer = new Uint8Array(256 * 1024);
    const gapMs = (of.pace ?? 0) === 0 ? 0 : 1000 * of.connections / (of.pace ?? 1);
    let next = performance.now() + Math.random() * gapMs;
    while (!isOver) {
      if (gapMs > 0) {
        const wait = next - performance.now();
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
        next += gapMs;
      }
      const started = performance.now();
      await connection.write(target.next?.() ?? request);
      await readAnswer(connection, buffer, target.good ?? [200]);
      if (isCounting) latencies.push(performance.now() - started);
    }
    connection.close();
  };
  const running = Array.from({ length: of.connections }, one);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const before = cpuMicros(of.pids);
  const started = performance.now();
  isCounting = true;
  await new Promise((resolve) => setTimeout(resolve, of.seconds * 1000));
  isCounting = false;
  const seconds = (performance.now() - started) / 1000;
  const used = cpuMicros(of.pids) - before;
  isOver = true;
  await Promise.all(running);
  return { requests: latencies.length, seconds, cpuMicros: used, latencies };
}

/** Reads one whole answer; throws when it is not good, because nobody may be measured refusing. */
async function readAnswer(
  connection: Deno.Conn,
  buffer: Uint8Array,
  good: readonly number[],
): Promise<void> {
  let have = 0;
  for (;;) {
    const read = await connection.read(buffer.subarray(have));
    if (read === null) throw new Error("the connection was closed");
    have += read;
    const text = latin1.decode(buffer.subarray(0, have));
    const end = text.indexOf("\r\n\r\n");
    if (end === -1) continue;
    if (!good.includes(Number(text.slice(9, 12)))) throw new Error(text.slice(0, 400));
    if (text.startsWith("HTTP/1.1 204") || /\r\ncontent-length: 0\r\n/i.test(text)) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
    if (length === undefined ? text.endsWith("\r\n0\r\n\r\n") : have >= end + 4 + Number(length)) {
      return;
    }
  }
}
