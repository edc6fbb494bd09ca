/**
 * Finds the last error in the log of a unit that does not serve, and the kind of fault that it
 * names. Pure.
 *
 * @module
 */

import { parseJsonObject } from "core/text/json_object.ts";

/** A fault that a line of a log names. */
export type NamedFault =
  | { readonly kind: "port-taken"; readonly host: string; readonly port: number }
  | { readonly kind: "file-denied"; readonly path: string }
  | { readonly kind: "work-folder-denied" }
  | { readonly kind: "disk-full"; readonly path: string };

/** The last error of a unit. */
export interface LastError {
  readonly line: string;
  readonly fault: NamedFault | undefined;
}

const LEVELS = ["error", "warn"] as const;
const LINE_LENGTH_MAX = 400;
/** Messages of the service manager about start and stop, which name no cause. */
const CHATTER = new RegExp(
  "^(?:(?:Start|Stopp)(?:ing|ed) |Failed to start |[\\w@.:\\\\-]+\\.(?:service|socket): (?:" +
    [
      "Main process exited",
      "Control process exited",
      "Failed with result",
      "Consumed",
      "Scheduled restart",
      "Start request repeated",
      "Deactivated",
    ].join("|") + "))",
);

/** Returns the last error of a log, given oldest line first; undefined if there is none. */
export function lastError(lines: readonly string[]): LastError | undefined {
  const all = lines.map(parseJsonObject);
  // Errors before the last successful start are obsolete.
  const ready = all.findLastIndex((fields) => fields?.event === "ready");
  const logged = all.slice(ready + 1);
  for (const level of LEVELS) {
    const found = logged.findLast((fields) => fields?.level === level);
    if (found !== undefined) return errorOf(sentence(found));
  }
  const plain = lines.slice(ready + 1).findLast((line, at) =>
    logged[at] === undefined && !CHATTER.test(line)
  );
  return plain === undefined ? undefined : errorOf(plain);
}

/**
 * Returns a log entry as one sentence: `cannot serve: Cannot listen on 127.0.0.1:8735: the port is
 * taken`.
 */
function sentence(fields: Readonly<Record<string, unknown>>): string {
  const texts = [fields.event, fields.error, fields.reason, fields.code]
    .filter((word) => typeof word === "string" && word !== "");
  return texts.join(": ");
}

function errorOf(line: string): LastError {
  const short = line.length > LINE_LENGTH_MAX ? `${line.slice(0, LINE_LENGTH_MAX)}…` : line;
  return { line: short, fault: faultIn(line) };
}

function faultIn(line: string): NamedFault | undefined {
  const [, host, port] = /Cannot listen on (\S+):(\d+): the port is taken/.exec(line) ?? [];
  if (host !== undefined) return { kind: "port-taken", host, port: Number(port) };
  if (/: Failed at step CHDIR spawning .*: Permission denied$/.test(line)) {
    return { kind: "work-folder-denied" };
  }
  const [, path, state] = /"(\/[^"]+)": (.*)$/.exec(line) ?? [];
  if (path === undefined || state === undefined) return undefined;
  if (/no space left/.test(state)) return { kind: "disk-full", path };
  const isDenied = /permission denied|unable to open database file|readonly database/i.test(state);
  return isDenied ? { kind: "file-denied", path } : undefined;
}
