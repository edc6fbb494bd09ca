/**
 * What was recorded of the running turns, so that a turn that continues after a restart repeats
 * nothing. The rows of a turn are deleted with its end. `units/dial/store.ts` writes them in the
 * transaction of the event.
 *
 * @module
 */

import type { Database } from "core/ports/databases.ts";
import type { Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";

/** SQL of the table. */
export const PROGRESS_TABLE = `
create table if not exists progress (
  turn_id text not null,
  kind text not null,
  id text not null,
  name text not null default '',
  primary key (turn_id, kind, id)
) strict, without rowid;
`;

/** What was recorded of a turn. */
export interface TurnProgress {
  /** Whether the runtime can continue the turn. */
  readonly goesOn: boolean;
  /** Ids of whole messages. */
  readonly messages: ReadonlySet<string>;
  /** Announced calls: their tools by id. */
  readonly calls: ReadonlyMap<string, string>;
  /** Ids of calls that have a result. */
  readonly results: ReadonlySet<string>;
}

/** Reads and writes what was recorded. */
export interface ProgressTable {
  of(turnId: string): TurnProgress;
  /** Counts a restart of a turn; returns how many there were since its last progress. */
  restarted(turnId: string): Result<number>;
  /** Notes that a runtime that can continue it has begun the turn; only in a transaction. */
  begin(turnId: string): void;
  /** Notes an event; only in a transaction. */
  note(turnId: string | undefined, event: Pick<NotedEvent, "kind" | "payload">): void;
  /** Forgets an ended turn; only in a transaction. */
  forget(turnId: string): void;
}

interface NotedEvent {
  readonly kind: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Opens the table of a prepared database. */
export function openProgressTable(db: Database): ProgressTable {
  const rows = db.prepare("select kind, id, name from progress where turn_id = ?");
  const put = db.prepare(
    "insert or ignore into progress (turn_id, kind, id, name) values (?, ?, ?, ?)",
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
        messages: new Set(ids("message")),
        calls: new Map(calls.map((row) => [String(row.id), String(row.name)])),
        results: new Set(ids("tool_result")),
      };
    },
    restarted: (turnId) =>
      writeSql(db, "the restart of the turn", () => {
        const before = Number(count.get(turnId)?.n ?? 0);
        put.run(turnId, "restart", `${before}`, "");
        return before + 1;
      }),
    begin: (turnId) => void put.run(turnId, "begin", "", ""),
    note: (turnId, { kind, payload }) => {
      if (turnId === undefined) return;
      if (kind === "tool_call") {
        put.run(turnId, kind, String(payload.call_id), toolName(payload));
      } else if (kind === "message") put.run(turnId, kind, String(payload.message_id), "");
      else if (kind === "tool_result") put.run(turnId, kind, String(payload.call_id), "");
      else return;
      clear.run(turnId);
    },
    forget: (turnId) => void forget.run(turnId),
  };
}

function toolName({ mcp, tool }: Readonly<Record<string, unknown>>): string {
  return typeof mcp === "string" ? `${mcp} / ${tool}` : String(tool);
}

/** Returns the ids of the calls without a result. */
export function openCalls({ calls, results }: TurnProgress): readonly string[] {
  return [...calls.keys()].filter((id) => !results.has(id));
}

/** Whether an earlier process of the runtime has reported this. */
export function isReported(update: RuntimeUpdate, known: TurnProgress | undefined): boolean {
  switch (update.kind) {
    case "text_delta":
    case "message":
      return known?.messages.has(update.messageId) === true;
    case "tool_call":
      return known?.calls.has(update.callId) === true;
    case "tool_result":
      return known?.results.has(update.callId) === true;
    case "image":
      return update.callId !== undefined && known?.results.has(update.callId) === true;
    default:
      return false;
  }
}
