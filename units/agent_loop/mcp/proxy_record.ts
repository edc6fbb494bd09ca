/**
 * Log lines that `fleetctl-mcp` writes to stderr: calls, refusals, approval requests, servers that
 * ended. They are copied to this program's log, and so to the log of the agent's unit. No I/O.
 *
 * @module
 */

/** One line as the proxy logged it. */
export interface ProxyRecord {
  readonly level: "info" | "warning" | "error";
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const LEVELS: readonly string[] = ["info", "warning", "error"];
/** Fields that the log itself sets; a line cannot replace them. */
const HEAD: ReadonlySet<string> = new Set(["at", "level", "program", "event"]);
const EVENT = /^[a-z][a-z_]{0,63}$/;

/** Parses a line; undefined for output of another program. */
export function proxyRecord(line: string): ProxyRecord | undefined {
  if (!line.startsWith("{")) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { program, level, event } = value as Readonly<Record<string, unknown>>;
  const isFromProxy = program === "fleetctl-mcp" && typeof level === "string" &&
    LEVELS.includes(level) && typeof event === "string" && EVENT.test(event);
  if (!isFromProxy) return undefined;
  const fields = Object.entries(value as Readonly<Record<string, unknown>>)
    .filter(([name]) => !HEAD.has(name));
  return { level: level as ProxyRecord["level"], event, fields: Object.fromEntries(fields) };
}
