/**
 * The port of the log.
 *
 * @module
 */

/** Severity of a log line. */
export type LogLevel = "debug" | "info" | "warning" | "error";

/** Structured log to stderr: one line per event. Never log a secret, token, code or cookie. */
export interface Log {
  debug(event: string, fields?: Readonly<Record<string, unknown>>): void;
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warning(event: string, fields?: Readonly<Record<string, unknown>>): void;
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Returns the same log with these fields added to each line. */
  with(fields: Readonly<Record<string, unknown>>): Log;
}
