/**
 * `fleetctl logs <agent|role|mcp> [--request ID] [--lines N] [--follow]`: log lines of units,
 * oldest first. `--request` keeps the lines with the id of one request. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { type LogLine, readLogs } from "cli/logs/source.ts";
import { logUnits } from "cli/logs/subject.ts";
import { safeText, verbatimReport, type VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { parseRecord, recordPath } from "units/reconcile/record.ts";

/** Options of `fleetctl logs`. */
export interface Options {
  readonly subject: string;
  readonly request: string | undefined;
  readonly lines: number;
  readonly isFollowing: boolean;
  readonly isJson: boolean;
}

const LINES_DEFAULT = 50;
const LINES_MAX = 10_000;
/** Number of lines of each source that are searched for a request. */
const SEARCHED_LINES = 100_000;
/** Request ids as the login proxy creates and accepts them. */
const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** Parses the arguments. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const { args, options, switches } = invocation;
  const lines = Number(options.lines ?? LINES_DEFAULT);
  if (!Number.isInteger(lines) || lines < 1 || lines > LINES_MAX) {
    return err(usage(`--lines is ${JSON.stringify(options.lines)}, must be 1 to ${LINES_MAX}`));
  }
  const { request } = options;
  if (request !== undefined && !REQUEST_ID.test(request)) {
    return err(usage("--request is no id of a request, must be as X-Request-Id shows it"));
  }
  return ok({
    subject: args.subject ?? "",
    request,
    lines,
    isFollowing: switches.has("follow"),
    isJson: invocation.json,
  });
}

/** Reads the logs. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths, caller } = context;
  const record = parseRecord(await ports.files.readText(recordPath(paths)) ?? "");
  const units = logUnits(options.subject, { paths, caller, files: record?.files ?? [] });
  if (!units.ok) return units;
  const { request, isFollowing, isJson } = options;
  const wanted = (line: LogLine) => request === undefined || namesRequest(line.text, request);
  const print = (line: LogLine) =>
    isJson ? JSON.stringify(jsonOf(line)) : textOf(line, units.value);
  const stop = context.takeOverStop();
  const kept: LogLine[] = [];
  const done = await readLogs(ports, paths, {
    units: units.value,
    lines: request === undefined ? options.lines : SEARCHED_LINES,
    isFollowing,
    stop,
  }, async (line) => {
    if (!wanted(line)) return;
    if (isFollowing) return await context.write(`${print(line)}\n`);
    kept.push(line);
  });
  if (!done.ok) return done;
  if (isFollowing) return ok({ json: { units: units.value, followed: true }, blocks: [] });
  const shown = byTime(kept).slice(-options.lines);
  return ok(verbatimReport(
    { subject: options.subject, units: units.value, lines: shown.map(jsonOf) },
    shown.length === 0 ? [nothing(options)] : shown.map(print),
  ));
}

/** Sorts by time. A line without a time stays behind its predecessor of the same source. */
function byTime(lines: readonly LogLine[]): readonly LogLine[] {
  const last = new Map<string, number>();
  const timed = lines.map((line) => {
    const at = line.atMs ?? last.get(line.unit) ?? 0;
    last.set(line.unit, at);
    return { line, at };
  });
  return timed.sort((a, b) => a.at - b.at).map(({ line }) => line);
}

/** Returns whether a line contains an id as a separate word. */
function namesRequest(text: string, id: string): boolean {
  for (let at = text.indexOf(id); at !== -1; at = text.indexOf(id, at + 1)) {
    const around = `${text[at - 1] ?? " "}${text[at + id.length] ?? " "}`;
    if (!/[A-Za-z0-9_-]/.test(around)) return true;
  }
  return false;
}

function textOf({ unit, atMs, text }: LogLine, units: readonly string[]): string {
  const isOwnFormat = text.startsWith('{"at":"');
  const time = isOwnFormat || atMs === undefined ? "" : `${new Date(atMs).toISOString()} `;
  const [only = ""] = units;
  const who = units.length === 1 && !only.includes("@.") ? "" : `${unit} `;
  return `${time}${who}${safeText(text)}`;
}

function jsonOf({ unit, atMs, text }: LogLine) {
  return { unit, at: atMs === undefined ? null : new Date(atMs).toISOString(), text };
}

function nothing({ subject, request }: Options): string {
  return request === undefined
    ? `"${subject}" has said nothing yet`
    : `no line of "${subject}" carries request ${request}`;
}

function usage(found: string) {
  return refusal("logs-arguments-invalid", `Cannot show logs: ${found}`, {
    kind: "usage",
    hints: ["fleetctl help logs"],
  });
}
