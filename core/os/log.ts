/**
 * The `Log` port on stderr: one line per event, JSON for machines and `key=value` on a terminal.
 * Written without a package (ADR 0022). Never prints a secret (`core/os/redact.ts`), and never
 * fails its caller when stderr is closed.
 *
 * @module
 */

import type { Log, LogLevel } from "core/ports/log.ts";
import { redactFields } from "core/os/redact.ts";

/** Destination and format of the log lines. */
export interface LogOptions {
  /** Name of the program in each line: `fleetctl-gateway`. */
  readonly program: string;
  /** Lowest severity that is printed; `info` when absent. */
  readonly level?: LogLevel;
  /** `json` unless stderr is a terminal. */
  readonly format?: "json" | "logfmt";
  /** Receives a whole line with its newline; stderr when absent. */
  readonly write?: (line: string) => void;
  /** Time of a line; the machine's clock when absent. */
  readonly now?: () => number;
}

type Fields = Readonly<Record<string, unknown>>;

const SEVERITY: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warning: 2, error: 3 };

/** Opens a log on stderr. */
export function stderrLog(options: LogOptions): Log {
  const format = options.format ?? (Deno.stderr.isTerminal() ? "logfmt" : "json");
  const write = options.write ?? stderrWriter();
  const now = options.now ?? Date.now;
  const least = SEVERITY[options.level ?? "info"];
  const print = format === "json" ? printJson : printLogfmt;
  const emit = (level: LogLevel, event: string, fields: Fields) => {
    if (SEVERITY[level] < least) return;
    const at = new Date(now()).toISOString();
    write(plain(print({ at, level, program: options.program, event }, redactFields(fields))));
  };
  return createLog(emit, {});
}

function createLog(
  emit: (level: LogLevel, event: string, fields: Fields) => void,
  base: Fields,
): Log {
  const at = (level: LogLevel) => (event: string, fields: Fields = {}) =>
    emit(level, event, { ...base, ...fields });
  return {
    debug: at("debug"),
    info: at("info"),
    warning: at("warning"),
    error: at("error"),
    with: (fields) => createLog(emit, { ...base, ...fields }),
  };
}

/**
 * Escapes control and format characters by their number, which JSON reads as the same text.
 * Otherwise text from other users could control a reader's terminal, or reverse the direction of
 * its lines.
 */
function plain(line: string): string {
  // Nearly every line is plain ASCII; escaping it would double its cost.
  if (!UNUSUAL.test(line)) return line;
  return line.replace(
    /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu,
    (mark) =>
      Array.from(
        { length: mark.length },
        (_, at) => `\\u${mark.charCodeAt(at).toString(16).padStart(4, "0")}`,
      ).join(""),
  );
}

const UNUSUAL = /[^\x20-\x7e\n]/;

interface Head {
  readonly at: string;
  readonly level: LogLevel;
  readonly program: string;
  readonly event: string;
}

/** The head comes last, so that no field overrides it: readers rely on `event` and `level`. */
function printJson(head: Head, fields: Fields): string {
  return `${JSON.stringify({ ...head, ...fields, ...head })}\n`;
}

function printLogfmt(head: Head, fields: Fields): string {
  const time = head.at.slice(11, 23);
  const words = [time, head.level, `${head.program}:`, quoteWord(head.event)];
  for (const [name, value] of Object.entries(fields)) {
    words.push(`${quoteWord(name)}=${quoteWord(printValue(value))}`);
  }
  return `${words.join(" ")}\n`;
}

function printValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "undefined";
}

/** Quotes a text, so that it cannot fake a second line or another field. */
function quoteWord(text: string): string {
  return /^[\w.:/@+,-]+$/.test(text) ? text : JSON.stringify(text);
}

/**
 * Writes whole lines and blocks while the reader is slow, so that the last lines of a dying program
 * arrive. Counts the lines that cannot be written, and logs the count once possible.
 */
function stderrWriter(): (line: string) => void {
  const encoder = new TextEncoder();
  let dropped = 0;
  return (line) => {
    const note = dropped === 0 ? "" : `{"event":"log_lines_dropped","count":${dropped}}\n`;
    const bytes = encoder.encode(note + line);
    try {
      for (let at = 0; at < bytes.length;) at += Deno.stderr.writeSync(bytes.subarray(at));
      dropped = 0;
    } catch {
      // The reader is gone, or the pipe is full and non-blocking. There is nowhere to report it.
      dropped++;
    }
  };
}
