/**
 * What was recorded of the running turns, so that a turn that continues after a restart repeats
 * nothing. The rows of a turn are deleted with its end. `units/dial/store.ts` writes them in the
 * transaction of the event.
 *
 * @module
 */

import type { Database } from "core/ports/databases.ts";
import type { Result } from "core/result.ts";
import { canonicalJson } from "core/risk/call.ts";
import { writeSql } from "core/store/sql_write.ts";
import { cutText } from "core/text/cut_text.ts";
import { fingerprint } from "core/text/fingerprint.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";

/** SQL of the table. */
export const PROGRESS_TABLE = `
create table if not exists progress (
  turn_id text not null,
  kind text not null,
  id text not null,
  name text not null default '',
  arguments text not null default '',
  primary key (turn_id, kind, id)
) strict, without rowid;
`;

/** A call that was announced. */
export interface NotedCall {
  /** MCP and tool. */
  readonly name: string;
  /** Its arguments as canonical JSON, cut; empty when they have no such form. */
  readonly arguments: string;
}

/** Maximum length of the arguments of a call that is noted, in bytes. */
const ARGUMENTS_BYTES_MAX = 1_024;

/** What was recorded of a turn. */
export interface TurnProgress {
  /** Whether the runtime can continue the turn. */
  readonly goesOn: boolean;
  /** Fingerprints of whole messages by id. */
  readonly messages: ReadonlyMap<string, string>;
  /** Announced calls by id. */
  readonly calls: ReadonlyMap<string, NotedCall>;
  /** Ids of calls that have a result. */
  readonly results: ReadonlySet<string>;
  /** Those of them that ended with their turn, without an answer of the tool. */
  readonly stopped: ReadonlySet<string>;
  readonly summaries: ReadonlySet<string>;
  /** Images that are in the transcript, or whose loss is; see `imageId`. */
  readonly images: ReadonlySet<string>;
  /** Ids of messages that were sent into the turn. */
  readonly steered: ReadonlySet<string>;
}

/** Reads and writes what was recorded. */
export interface ProgressTable {
  of(turnId: string): TurnProgress;
  /** Counts a restart of a turn; returns how many there were since its last progress. */
  restarted(turnId: string): Result<number>;
  /** Notes that a runtime that can continue it has begun the turn; only in a transaction. */
  begin(turnId: string): void;
  /** Notes an event; only in a transaction. */
  note(turnId: string | undefined, event: NotedEvent): void;
  /** Forgets an ended turn; only in a transaction. */
  forget(turnId: string): void;
}

interface NotedEvent {
  readonly kind: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** The image that the event is about. */
  readonly imageId?: string | undefined;
}

/** Opens the table of a prepared database. */
export function openProgressTable(db: Database): ProgressTable {
  const rows = db.prepare("select kind, id, name, arguments from progress where turn_id = ?");
  const put = db.prepare(
    "insert or ignore into progress (turn_id, kind, id, name) values (?, ?, ?, ?)",
  );
  const putCall = db.prepare(
    "insert into progress (turn_id, kind, id, name, arguments) values (?, 'tool_call', ?, ?, ?) " +
      "on conflict do update set arguments = excluded.arguments",
  );
  const count = db.prepare(
    "select count(*) as n from progress where turn_id = ? and kind = 'restart'",
  );
  const clear = db.prepare("delete from progress where turn_id = ? and kind = 'restart'");
  const forget = db.prepare("delete from progress where turn_id = ?");
  return {
    of: (turnId) => {
      const found = rows.all(turnId);
      const ids = (kind: string) =>
        found.filter((row) => row.kind === kind).map((row) => String(row.id));
      const calls = found.filter((row) => row.kind === "tool_call");
      return {
        goesOn: ids("begin").length > 0,
        messages: new Map(
          found.filter((row) => row.kind === "message")
            .map((row) => [String(row.id), String(row.name)]),
        ),
        calls: new Map(calls.map((row) => [
          String(row.id),
          { name: String(row.name), arguments: String(row.arguments) },
        ])),
        results: new Set(ids("tool_result")),
        stopped: new Set(
          found.filter((row) => row.kind === "tool_result" && row.name === STOPPED)
            .map((row) => String(row.id)),
        ),
        summaries: new Set(ids("summary")),
        images: new Set(ids("image")),
        steered: new Set(ids("turn_steered")),
      };
    },
    restarted: (turnId) =>
      writeSql(db, "the restart of the turn", () => {
        const before = Number(count.get(turnId)?.n ?? 0);
        put.run(turnId, "restart", `${before}`, "");
        return before + 1;
      }),
    begin: (turnId) => void put.run(turnId, "begin", "", ""),
    note: (turnId, { kind, payload, imageId }) => {
      if (turnId === undefined) return;
      if (imageId !== undefined) put.run(turnId, "image", imageId, "");
      else if (kind === "tool_call") {
        const call = notedCall(payload);
        putCall.run(turnId, String(payload.call_id), call.name, call.arguments);
      } else if (kind === "message") {
        put.run(turnId, kind, String(payload.message_id), fingerprint(String(payload.text)));
      } else if (kind === "tool_result") {
        const name = payload.status === STOPPED ? STOPPED : "";
        put.run(turnId, kind, String(payload.call_id), name);
      } else if (kind === "summary") put.run(turnId, kind, String(payload.summary_id), "");
      else if (kind === "turn_steered") put.run(turnId, kind, String(payload.from), "");
      else return;
      clear.run(turnId);
    },
    forget: (turnId) => void forget.run(turnId),
  };
}

/** Status of a call that ended with its turn. */
const STOPPED = "stopped";

function argumentText(given: unknown): string {
  try {
    return cutText(canonicalJson(given ?? {}), ARGUMENTS_BYTES_MAX).text;
  } catch {
    // Nested too deep, which no approval may be.
    return "";
  }
}

/** Returns a call as it is noted. */
export function notedCall(call: {
  readonly mcp?: unknown;
  readonly tool?: unknown;
  readonly arguments?: unknown;
}): NotedCall {
  const { mcp, tool } = call;
  const name = typeof mcp === "string" && mcp !== "" ? `${mcp} / ${tool}` : String(tool);
  return { name, arguments: argumentText(call.arguments) };
}

/**
 * Returns what an earlier process of the runtime has not reported of an update. A message with a
 * known id and another text gets a new id: the model was called again, because its answer was cut.
 */
export function unreported(
  update: RuntimeUpdate,
  known: TurnProgress | undefined,
): RuntimeUpdate | undefined {
  if (known === undefined) return update;
  switch (update.kind) {
    case "text_delta":
      return known.messages.has(update.messageId) ? undefined : update;
    case "message":
      return unreportedMessage(update, known);
    case "tool_call":
      return known.calls.has(update.callId) ? undefined : update;
    case "tool_result":
      return known.results.has(update.callId) ? undefined : update;
    case "steered":
      return known.steered.has(update.messageId) ? undefined : update;
    case "summary":
      return known.summaries.has(update.summaryId) ? undefined : update;
    case "image":
      return known.images.has(imageId(update)) ? undefined : update;
    default:
      return update;
  }
}

/** Identifies an image of a turn: the same image of the same call has the same id. */
export function imageId(
  { callId = "", image }: Extract<RuntimeUpdate, { kind: "image" }>,
): string {
  return `${callId} ${fingerprint("base64" in image ? image.base64 : image.path)}`;
}

function unreportedMessage(
  update: Extract<RuntimeUpdate, { kind: "message" }>,
  { messages }: TurnProgress,
): RuntimeUpdate | undefined {
  const { messageId, text } = update;
  const again = (n: number) => n === 0 ? messageId : `${messageId}-again${n}`;
  for (let n = 0;; n++) {
    const found = messages.get(again(n));
    if (found === undefined) return { ...update, messageId: again(n) };
    if (found === fingerprint(text)) return undefined;
  }
}
