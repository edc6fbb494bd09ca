/**
 * Load for `./dev bench login`, of two kinds. The first: keep-alive connections that send one
 * request after the other, with the CPU time that a set of processes uses. On a busy machine CPU
 * time is steadier than requests per second. The second: requests at fixed times, whether or not
 * earlier ones are answered, each measured from the time when it was due. So a slow server cannot
 * suppress requests.
 *
 * @module
 */

/** The request to send. */
export interface Target {
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The result of a round. */
export interface Round {
  readonly requests: number;
  readonly seconds: number;
  readonly cpuMicros: number;
}

const TICKS_PER_SECOND = 100;
const encoder = new TextEncoder();
const latin1 = new TextDecoder("latin1");

/** Returns the CPU time of processes and all their descendants, in microseconds. */
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
      // The process has ended.
    }
  }
  const isOurs = (pid: number): boolean =>
    pids.includes(pid) || (stats.has(pid) && pid > 1 && isOurs(stats.get(pid)?.parent ?? 0));
  let ticks = 0;
  for (const [pid, stat] of stats) if (isOurs(pid)) ticks += stat.ticks;
  return ticks * 1_000_000 / TICKS_PER_SECOND;
}

function requestOf(target: Target): Uint8Array<ArrayBuffer> {
  return encoder.encode(
    [
      `GET ${target.path} HTTP/1.1`,
      "host: localhost",
      ...Object.entries(target.headers).map(([name, value]) => `${name}: ${value}`),
      "",
      "",
    ].join("\r\n"),
  );
}

/** Sends requests over `connections`, each as fast as it is answered, for `seconds`. */
export async function runLoad(
  target: Target,
  of: {
    readonly pids: readonly number[];
    readonly connections: number;
    readonly seconds: number;
  },
): Promise<Round> {
  const request = requestOf(target);
  let requests = 0;
  let isCounting = false;
  let isOver = false;
  const one = async () => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: target.port });
    const buffer = new Uint8Array(256 * 1024);
    while (!isOver) {
      await connection.write(request);
      await readAnswer(connection, buffer);
      if (isCounting) requests++;
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
  return { requests, seconds, cpuMicros: used };
}

const libc = Deno.dlopen("libc.so.6", {
  usleep: { parameters: ["u32"], result: "i32", nonblocking: true },
});
/** The platform's timers have a resolution of a millisecond, too coarse for this measurement. */
const sleepMicros = (micros: number) => libc.symbols.usleep(Math.max(1, Math.floor(micros)));
/** A request may be sent this early, because the alternative is one wake-up too late. */
const EARLY_MS = 0.05;
const WARM_MS = 1_000;
const KEPT_AT_FIRST = 32;

/** Sends `pace` requests a second; returns the milliseconds of each since it was due. */
export async function runPaced(
  target: Target,
  of: { readonly pace: number; readonly seconds: number },
): Promise<readonly number[]> {
  const request = requestOf(target);
  const idle: { readonly connection: Deno.Conn; readonly buffer: Uint8Array }[] = [];
  const open = async () => {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: target.port });
    connection.setNoDelay(true);
    return { connection, buffer: new Uint8Array(64 * 1024) };
  };
  for (let count = 0; count < KEPT_AT_FIRST; count++) idle.push(await open());
  const latencies: number[] = [];
  const started = performance.now();
  const from = started + WARM_MS;
  const one = async (due: number) => {
    const link = idle.pop() ?? await open();
    await link.connection.write(request);
    await readAnswer(link.connection, link.buffer);
    if (due >= from) latencies.push(performance.now() - due);
    idle.push(link);
  };
  const running = new Set<Promise<void>>();
  const until = from + of.seconds * 1000;
  for (let due = started; due < until;) {
    const wait = due - performance.now();
    if (wait > EARLY_MS) await sleepMicros((wait - EARLY_MS) * 1000);
    for (const now = performance.now() + EARLY_MS; due <= now; due += 1000 / of.pace) {
      const asked = one(due);
      running.add(asked);
      asked.finally(() => running.delete(asked)).catch(() => {});
    }
  }
  await Promise.all(running);
  for (const { connection } of idle) connection.close();
  return latencies;
}

/** Opens a stream on a separate connection; returns the milliseconds to its first event. */
export async function firstByte(target: Target): Promise<number> {
  const request = requestOf(target);
  const buffer = new Uint8Array(16 * 1024);
  const started = performance.now();
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: target.port });
  connection.setNoDelay(true);
  await connection.write(request);
  let text = "";
  while (!text.includes("data: first")) {
    const read = await connection.read(buffer);
    if (read === null) throw new Error(text.slice(0, 400));
    text += latin1.decode(buffer.subarray(0, read));
  }
  const took = performance.now() - started;
  connection.close();
  return took;
}

/**
 * Reads one whole answer; throws when it is not a success, because refusals must not be measured.
 */
async function readAnswer(
  connection: Deno.Conn,
  buffer: Uint8Array,
): Promise<void> {
  let have = 0;
  for (;;) {
    const read = await connection.read(buffer.subarray(have));
    if (read === null) throw new Error("the connection was closed");
    have += read;
    const text = latin1.decode(buffer.subarray(0, have));
    const end = text.indexOf("\r\n\r\n");
    if (end === -1) continue;
    if (!text.startsWith("HTTP/1.1 200")) throw new Error(text.slice(0, 400));
    if (/\r\ncontent-length: 0\r\n/i.test(text)) return;
    const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
    if (length === undefined ? text.endsWith("\r\n0\r\n\r\n") : have >= end + 4 + Number(length)) {
      return;
    }
  }
}
