/**
 * `fleetctl audit list`: the recorded decisions about verbs that need root. Reads only. Text from
 * callers is escaped, so that it can neither control a terminal nor imitate a row.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { parseSince, type Since, sinceMs } from "cli/since.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { AUDIT_ROWS_MAX, type AuditEntry, auditFile, openAudit } from "core/verbs/audit.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl audit list`. */
export interface Options {
  readonly caller?: string | undefined;
  readonly verb?: string | undefined;
  readonly isDeniedOnly: boolean;
  readonly since?: Since;
  readonly limit: number;
}

const LIMIT_DEFAULT = 50;

/** Parses the filters. Reports every fault at once. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const { options, switches } = invocation;
  const faults: string[] = [];
  const limit = options.limit === undefined ? LIMIT_DEFAULT : Number(options.limit);
  if (!/^[1-9]\d{0,5}$/.test(options.limit ?? "1") || limit > AUDIT_ROWS_MAX) {
    faults.push(`--limit is "${options.limit}", must be 1 to ${AUDIT_ROWS_MAX}`);
  }
  const since = options.since === undefined ? undefined : parseSince(options.since);
  if (options.since !== undefined && since === undefined) {
    faults.push(`--since is "${options.since}", must be a span such as 2h or a UTC time`);
  }
  if (faults.length > 0) {
    return err(refusal("options-invalid", `Cannot list the audit log: ${faults.join("; ")}`, {
      kind: "usage",
      hints: ["fleetctl audit list --help"],
    }));
  }
  return ok({
    caller: options.caller,
    verb: options.verb,
    isDeniedOnly: switches.has("denied"),
    ...defined({ since }),
    limit,
  });
}

/** Reads the log. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const file = auditFile(paths);
  const { since, ...query } = options;
  let entries: readonly AuditEntry[] = [];
  if (await ports.files.stat(file) !== undefined) {
    const audit = openAudit(await ports.databases.open(file));
    try {
      entries = audit.read({ ...query, sinceMs: since && sinceMs(since, ports.clock.now()) });
    } finally {
      audit.close();
    }
  }
  return ok({
    json: { decisions: entries.map(entryJson) },
    blocks: [{
      kind: "table",
      columns: ["time", "uid", "caller", "verb", "target", "answer", "exit", "why", "words"],
      rows: entries.map(entryCells),
      empty: "There is no such decision in the audit log",
    }],
  });
}

function entryJson(entry: AuditEntry) {
  const time = (ms: number | undefined) => ms === undefined ? null : new Date(ms).toISOString();
  return {
    id: entry.id,
    at: time(entry.atMs),
    via: entry.via,
    uid: entry.uid,
    pid: entry.pid,
    caller: entry.caller,
    verb: entry.verb,
    target: entry.target,
    words: entry.words,
    allowed: entry.isAllowed,
    code: entry.code === "" ? null : entry.code,
    reason: entry.reason,
    ended_at: time(entry.endedAtMs),
    exit: entry.exit ?? null,
  };
}

function entryCells(entry: AuditEntry): readonly Cell[] {
  return [
    new Date(entry.atMs).toISOString(),
    String(entry.uid),
    visible(entry.caller),
    visible(entry.verb),
    visible(entry.target),
    entry.isAllowed ? { text: "allowed", tone: "good" } : { text: "denied", tone: "bad" },
    visible(entry.exit ?? ""),
    visible(entry.code === "" ? entry.reason : `${entry.reason} (${entry.code})`),
    visible(entry.words),
  ];
}

/** Shows line breaks, control characters and direction marks as their code points. */
function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\u2028\u2029]/gu,
    (mark) => `\\u{${(mark.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
