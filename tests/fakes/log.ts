/**
 * A log that keeps its lines for a test to inspect.
 *
 * @module
 */

import type { Log, LogLevel } from "core/ports/log.ts";

/** One line as it was logged. */
export interface RecordedLine {
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A log and the lines written to it. */
export interface RecordingLog extends Log {
  /** Every line, oldest first; shared by all logs made from this one by `with`. */
  readonly lines: readonly RecordedLine[];
  /** Returns the lines of one event. */
  of(event: string): readonly RecordedLine[];
  /** Resolves with the first line of an event, written before or after this call. */
  next(event: string): Promise<RecordedLine>;
}

/** Creates an empty log. */
export function recordingLog(): RecordingLog {
  const lines: RecordedLine[] = [];
  const waiting: { event: string; resolve: (line: RecordedLine) => void }[] = [];
  const record = (line: RecordedLine) => {
    lines.push(line);
    for (let index = waiting.length - 1; index >= 0; index--) {
      if (waiting[index]?.event === line.event) waiting.splice(index, 1)[0]?.resolve(line);
    }
  };
  const create = (base: Readonly<Record<string, unknown>>): Log => {
    const at = (level: LogLevel) => (event: string, fields = {}) =>
      record({ level, event, fields: { ...base, ...fields } });
    return {
      debug: at("debug"),
      info: at("info"),
      warning: at("warning"),
      error: at("error"),
      with: (fields) => create({ ...base, ...fields }),
    };
  };
  return {
    ...create({}),
    lines,
    of: (event) => lines.filter((line) => line.event === event),
    next: (event) => {
      const found = lines.find((line) => line.event === event);
      if (found !== undefined) return Promise.resolve(found);
      return new Promise((resolve) => waiting.push({ event, resolve }));
    },
  };
}
