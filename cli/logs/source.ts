/**
 * Reads log lines of units: from the systemd journal, or from the log files that the embedded
 * service manager writes under another root. `journalctl` or `tail` reads them, started without a
 * shell. Bytes that are not text are shown as far as possible.
 *
 * @module
 */

import { errorText, refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import type { Processes } from "core/ports/processes.ts";
import { err, ok, type Result } from "core/result.ts";
import { parseJsonObject } from "core/text/json_object.ts";
import { readLines } from "core/text/lines.ts";

/** One line and its origin. */
export interface LogLine {
  /** The unit; for a server the instance: `mcp-git-ada@3-412-1001.service`. */
  readonly unit: string;
  /** Milliseconds since the epoch; undefined for a line without a time. */
  readonly atMs: number | undefined;
  readonly text: string;
}

/** Which lines to read. */
export interface LogQuery {
  /** Unit names. A template (`x@.service`) stands for all its instances. */
  readonly units: readonly string[];
  /** Number of last lines of each source to read first. */
  readonly lines: number;
  /** Reads on until `stop` is aborted. */
  readonly isFollowing: boolean;
  readonly stop: AbortSignal;
}

/** The ports that reading needs. */
export interface LogPorts {
  readonly files: Pick<Files, "list">;
  readonly processes: Pick<Processes, "spawn">;
}

type OnLine = (line: LogLine) => Promise<void>;

const ENV = { PATH: "/usr/bin:/bin", LC_ALL: "C", SYSTEMD_COLORS: "0" } as const;
/** Longer lines are cut. No program of this product logs lines of that length. */
const LINES = { lineBytesMax: 256 * 1024, longLines: "cut" } as const;

/** Passes lines on one by one: ordered within a source, as they arrive across sources. */
export async function readLogs(
  ports: LogPorts,
  paths: Paths,
  query: LogQuery,
  onLine: OnLine,
): Promise<Result<void>> {
  try {
    if (paths.root === "/") await readJournal(ports, query, onLine);
    else await readFiles(ports, paths, query, onLine);
    return ok(undefined);
  } catch (thrown) {
    return err(refusal("logs-unreadable", `Cannot read the logs: ${errorText(thrown)}`));
  }
}

async function readJournal(ports: LogPorts, query: LogQuery, onLine: OnLine): Promise<void> {
  const args = [
    "--no-pager",
    "--quiet",
    "--output=json",
    "--output-fields=MESSAGE,_SYSTEMD_UNIT,UNIT",
    `--lines=${query.lines}`,
    // `--follow` reads only the boot whose id is in /proc. A container may mount over that id, and
    // a service with a private /proc then sees another one. `--merge` reads every boot.
    ...(query.isFollowing ? ["--follow", "--merge"] : []),
    ...query.units.map((unit) => `--unit=${unit.replace("@.", "@*.")}`),
  ];
  await readChild(
    ports,
    { command: "/usr/bin/journalctl", args, stop: query.stop },
    async (text) => {
      const line = parseJournalLine(text);
      if (line !== undefined) await onLine(line);
    },
  );
}

/** Parses one object of `journalctl --output=json`; returns undefined for other text. */
export function parseJournalLine(text: string): LogLine | undefined {
  const fields = parseJsonObject(text);
  if (fields === undefined) return undefined;
  // Messages of the manager about a unit name it in UNIT, those of the unit in _SYSTEMD_UNIT.
  const unit = [fields.UNIT, fields._SYSTEMD_UNIT].find((one) => typeof one === "string") ?? "";
  const micros = Number(fields.__REALTIME_TIMESTAMP);
  return {
    unit: String(unit),
    atMs: Number.isFinite(micros) ? Math.floor(micros / 1000) : undefined,
    text: messageOf(fields.MESSAGE),
  };
}

/** The journal encodes a message that is not text as a list of bytes. */
function messageOf(message: unknown): string {
  if (typeof message === "string") return message;
  return Array.isArray(message) ? new TextDecoder().decode(Uint8Array.from(message)) : "";
}

async function readFiles(
  ports: LogPorts,
  paths: Paths,
  query: LogQuery,
  onLine: OnLine,
): Promise<void> {
  const names = await ports.files.list(paths.logs);
  const found = query.units.flatMap((unit) =>
    names.filter((name) => isLogOf(name, unit)).map((name) => ({
      unit: name.slice(0, -".log".length),
      path: `${paths.logs}/${name}`,
    }))
  );
  await Promise.all(found.map(async ({ unit, path }) => {
    const args = [`--lines=${query.lines}`, ...(query.isFollowing ? ["-F"] : []), "--", path];
    await readChild(ports, { command: "/usr/bin/tail", args, stop: query.stop }, async (text) => {
      await onLine({ unit, atMs: timeOf(text), text });
    });
  }));
}

function isLogOf(file: string, unit: string): boolean {
  if (!unit.includes("@.")) return file === `${unit}.log`;
  const [stem = "", type = ""] = unit.split("@.");
  return file.startsWith(`${stem}@`) && file.endsWith(`.${type}.log`);
}

/** Returns the time of a line. Only lines of this product's programs carry one. */
function timeOf(text: string): number | undefined {
  const at = /^\{"at":"([^"]{20,30})"/.exec(text)?.[1];
  const ms = at === undefined ? NaN : Date.parse(at);
  return Number.isNaN(ms) ? undefined : ms;
}

async function readChild(
  ports: LogPorts,
  program: {
    readonly command: string;
    readonly args: readonly string[];
    readonly stop: AbortSignal;
  },
  onText: (text: string) => Promise<void>,
): Promise<void> {
  const { command, args, stop } = program;
  if (stop.aborted) return;
  const child = await ports.processes.spawn({ command, args, env: ENV, cwd: "/" });
  const end = () => child.kill("SIGTERM");
  stop.addEventListener("abort", end, { once: true });
  try {
    await child.stdin.close().catch(() => {});
    const stderr = new Response(child.stderr as ReadableStream<Uint8Array<ArrayBuffer>>).text();
    for await (const line of readLines(child.stdout, LINES)) await onText(line);
    const exit = await child.exited;
    const errors = (await stderr).trim();
    if (exit.code !== 0 && !stop.aborted) {
      throw new Error(errors === "" ? `${command} ended with ${exit.code ?? exit.signal}` : errors);
    }
  } finally {
    stop.removeEventListener("abort", end);
    end();
  }
}
