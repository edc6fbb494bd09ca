/**
 * The turn store: sending turns out, agents' events, delivery of answers. Each acknowledged change
 * is one transaction; times are arguments. Frequent writes of turns are batched; the rest is
 * written at once.
 *
 * @module
 */

import { type DurableEvent, isEventKind, readAgentEvent } from "core/dial/event.ts";
import { EVENT_LIMITS } from "core/limits/event.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Database } from "core/ports/databases.ts";
import { ok, type Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";
import type { ApprovalRequest } from "teamchat/approval_card.ts";
import type { Writing } from "teamchat/store/batch.ts";
import type { Row } from "teamchat/store/schema.ts";
import { readTurn, type StoredTurn, type TurnRows } from "teamchat/store/turn_rows.ts";
import type { DeliveryOutcome, DeliveryProgress, Turn, TurnOutcome } from "teamchat/store/turn.ts";

/** Effect of a stored event on an answer in progress. */
export type TurnEffect =
  | { readonly kind: "started"; readonly turnId: string }
  | { readonly kind: "message"; readonly turnId: string; readonly messageId: string }
  | { readonly kind: "tool"; readonly turnId: string; readonly tool: string }
  | { readonly kind: "asked"; readonly turnId: string; readonly approval: ApprovalRequest }
  | { readonly kind: "ended"; readonly turnId: string };

/** Result of storing a batch of events. */
export interface Appended {
  readonly ackedSeq: number;
  readonly repeated: number;
  /** Events of turns that do not belong to the agent. */
  readonly otherAgents: number;
  readonly hasGap: boolean;
  readonly effects: readonly TurnEffect[];
}

/** Outcome of an answer, and its progress. */
export interface Closing {
  readonly outcome: DeliveryOutcome;
  readonly reason: string | undefined;
  readonly progress?: Pick<DeliveryProgress, "partsSent" | "ids">;
}

/** The turn store. */
export interface TurnStore {
  get(turnId: string): Turn | undefined;
  /** The oldest turn that the agent does not have, and whether it is the only one. */
  nextFor(agent: string): { readonly turn: Turn; readonly isLast: boolean } | undefined;
  /** Call when the agent has it on its own disk. False when it is another agent's turn. */
  markDelivered(agent: string, turnId: string, now: number): Promise<Result<boolean>>;
  ackedSeq(agent: string, epoch: string): number;
  /** Stores an agent's events. Returns the number up to which all are stored, and their effects. */
  append(
    agent: string,
    epoch: string,
    events: readonly DurableEvent[],
    now: number,
  ): Promise<Result<Appended>>;
  /** Turns that the agent should have and that have not ended. */
  heldBy(agent: string): readonly Turn[];
  /** Ended turns whose answer is not delivered, oldest first. */
  unanswered(): readonly Turn[];
  /** Turns that are not closed. */
  open(): readonly Turn[];
  /** Turns that have waited longer than allowed. */
  expired(now: number): readonly Turn[];
  /** Agents' turns that have waited since before `since`. */
  waitingSince(since: number): readonly Turn[];
  /** Ends a turn from the gateway's side. */
  end(turnId: string, how: { outcome: TurnOutcome; reason?: string }, now: number): Result<boolean>;
  requestCancel(turnId: string): Result<void>;
  setProgress(turnId: string, progress: Partial<DeliveryProgress>): Promise<Result<void>>;
  close(turnId: string, how: Closing, now: number): Promise<Result<void>>;
  /** Outcomes that were not reported to the agent. */
  unreported(agent: string): readonly (Turn & { readonly delivery: DeliveryOutcome })[];
  markReported(turnId: string): Promise<Result<void>>;
  openCount(): number;
  /** Deletes turns closed before `before`. */
  sweep(before: number): void;
}

/** Turns per query: each one causes a separate write in the caller, and the rest follows later. */
const CHECKED_MAX = 256;

/** Opens the store over prepared tables; `writing` saves `rows` with each batch. */
export function openTurnStore(
  db: Database,
  { write: together, writeLater }: Pick<Writing, "write" | "writeLater">,
  rows: TurnRows,
): TurnStore {
  const sql = statements(db);
  const { open } = rows;
  return {
    get: rows.get,
    nextFor: (agent) => {
      const place = open.next(agent);
      const row = place === undefined ? undefined : sql.at.get(place);
      if (row === undefined) return undefined;
      const turn = readTurn(row);
      rows.offer(turn);
      return { turn, isLast: open.queuedCount(agent) === 1 };
    },
    markDelivered: (agent, turnId, now) =>
      together("the turn", () => ok(deliver(rows, { agent, now }, turnId))),
    ackedSeq: (agent, epoch) => Number(sql.cursor.get(agent, epoch)?.acked_seq ?? 0),
    append: (agent, epoch, events, now) =>
      together("the event", () => ok(appendAll({ sql, rows }, { agent, epoch, now }, events))),
    heldBy: (agent) => open.held(agent).flatMap((place) => readTurns(sql.at.all(place))),
    unanswered: () => readTurns(sql.unanswered.all()),
    open: () => readTurns(sql.allOpen.all()),
    expired: (now) => readTurns(sql.expired.all(now)),
    waitingSince: (since) => {
      const waiting: StoredTurn[] = [];
      for (const place of open.oldest()) {
        if (waiting.length === CHECKED_MAX) break;
        waiting.push(...readTurns(sql.waiting.all(place, since)));
      }
      return waiting;
    },
    end: (turnId, { outcome, reason }, now) =>
      writeRow(db, rows, () => {
        const turn = rows.get(turnId);
        if (turn === undefined || isOver(turn)) return false;
        rows.change(turn, { state: "ended", outcome, reason, changed: now });
        return true;
      }),
    requestCancel: (turnId) =>
      writeRow(db, rows, () => {
        const turn = rows.get(turnId);
        if (turn !== undefined) rows.change(turn, { isCancelRequested: true });
      }),
    setProgress: (turnId, progress) =>
      together("the answer", () => {
        const turn = rows.get(turnId);
        if (turn !== undefined) rows.change(turn, { progress: { ...turn.progress, ...progress } });
        return ok(undefined);
      }),
    close: (turnId, how, now) =>
      together("the answer", () => {
        const turn = rows.get(turnId);
        if (turn !== undefined) rows.change(turn, closing(turn, how, now));
        return ok(undefined);
      }),
    unreported: (agent) =>
      readTurns(sql.unreported.all(agent)).flatMap((turn) => {
        const { delivery } = turn;
        return delivery === undefined ? [] : [{ ...turn, delivery }];
      }),
    markReported: (turnId) =>
      writeLater("the answer", () => {
        sql.told.run(turnId);
        return ok(undefined);
      }),
    openCount: () => Number(sql.open.get()?.n ?? 0),
    sweep: (before) => {
      sql.sweep.run(before);
    },
  };
}

/** Writes one change of a turn in its own transaction. */
function writeRow<T>(db: Database, rows: TurnRows, work: () => T): Result<T> {
  let isDone = false;
  try {
    rows.begin();
    const written = writeSql(db, "the turn", () => {
      const value = work();
      rows.save();
      return value;
    });
    isDone = written.ok;
    return written;
  } finally {
    if (!isDone) rows.forget();
  }
}

function isOver({ state }: StoredTurn): boolean {
  return state === "ended" || state === "closed";
}

function deliver(
  rows: TurnRows,
  { agent, now }: { readonly agent: string; readonly now: number },
  turnId: string,
): boolean {
  const turn = rows.get(turnId);
  if (turn === undefined || turn.agent !== agent) return false;
  if (turn.state === "queued") rows.change(turn, { state: "delivered", changed: now });
  return true;
}

/** Deletes the text, which is no longer needed; the id stays, to recognize a late event. */
function closing(turn: StoredTurn, { outcome, reason, progress }: Closing, now: number) {
  return {
    ...{ state: "closed", delivery: outcome, reason, answer: "", text: "", changed: now } as const,
    progress: { ...turn.progress, ...progress, isSending: false },
  };
}

type Statements = ReturnType<typeof statements>;

interface Stores {
  readonly sql: Statements;
  readonly rows: TurnRows;
}

/** Stores events with the next sequence numbers; stops at a gap and skips repeated ones. */
function appendAll(
  { sql, rows }: Stores,
  from: { readonly agent: string; readonly epoch: string; readonly now: number },
  events: readonly DurableEvent[],
): Appended {
  const { agent, epoch } = from;
  const before = sql.cursor.get(agent, epoch);
  // Keeps a limited number of epochs per agent, since an agent may send ever new ones. A deleted
  // epoch starts over.
  if (before === undefined) sql.dropCursors.run(agent, agent, EVENT_LIMITS.epochsKept);
  let ackedSeq = Number(before?.acked_seq ?? 0);
  let [repeated, otherAgents, hasGap] = [0, 0, false];
  const effects: TurnEffect[] = [];
  for (const event of events) {
    if (event.seq <= ackedSeq) repeated++;
    else if (event.seq > ackedSeq + 1) {
      hasGap = true;
      break;
    } else {
      ackedSeq = event.seq;
      const taken = take(rows, from, event);
      if (taken === "foreign") otherAgents++;
      else if (taken !== undefined) effects.push(taken);
    }
  }
  sql.setCursor.run(agent, epoch, ackedSeq);
  return { ackedSeq, repeated, otherAgents, hasGap, effects };
}

function take(
  rows: TurnRows,
  from: { readonly agent: string; readonly now: number },
  event: DurableEvent,
): TurnEffect | "foreign" | undefined {
  const { turn_id: turnId } = event;
  if (turnId === undefined) return undefined;
  const turn = rows.get(turnId);
  if (turn === undefined || turn.agent !== from.agent) return "foreign";
  const { kind, payload } = readAgentEvent(event);
  if (!isEventKind(kind)) return undefined;
  switch (kind) {
    case "turn_started":
      if (turn.state !== "queued" && turn.state !== "delivered") return undefined;
      rows.change(turn, { state: "running", changed: from.now });
      return { kind: "started", turnId };
    case "message": {
      const before = turn.answer;
      const text = String(payload.text ?? "");
      const answer = before === "" ? text : `${before}\n\n${text}`;
      if (answer.length > TEAMCHAT_LIMITS.answerLengthMax) return undefined;
      // A change after the end would alter a text that may already be partly delivered.
      if (!isOver(turn)) rows.change(turn, { answer });
      return { kind: "message", turnId, messageId: String(payload.message_id ?? "") };
    }
    case "tool_call":
      return { kind: "tool", turnId, tool: String(payload.tool ?? "") };
    case "approval_asked":
      return { kind: "asked", turnId, approval: parseApproval(payload) };
    case "turn_ended": {
      if (isOver(turn)) return undefined;
      const outcome = String(payload.outcome ?? "failed") as TurnOutcome;
      const reason = payload.reason === undefined ? undefined : String(payload.reason);
      rows.change(turn, { state: "ended", outcome, reason, changed: from.now });
      return { kind: "ended", turnId };
    }
    default:
      return undefined;
  }
}

function parseApproval(payload: Readonly<Record<string, unknown>>): ApprovalRequest {
  const { mcp } = payload;
  return {
    id: String(payload.approval_id ?? ""),
    digest: String(payload.digest ?? ""),
    mcp: typeof mcp === "string" ? mcp : undefined,
    tool: String(payload.tool ?? ""),
    arguments: payload.arguments as Readonly<Record<string, unknown>> ?? {},
    isDestructive: payload.is_destructive === true,
  };
}

function readTurns(rows: readonly Row[]): readonly StoredTurn[] {
  return rows.map((row) => readTurn(row));
}

function statements(db: Database) {
  const turns = "select * from turns where";
  return {
    at: db.prepare(`${turns} place = ?`),
    told: db.prepare("update turns set told = 1 where turn_id = ?"),
    unanswered: db.prepare(
      "select * from turns indexed by turns_open where state <> 'closed' and state = 'ended' " +
        "order by place",
    ),
    allOpen: db.prepare(
      "select * from turns indexed by turns_open where state <> 'closed' order by place",
    ),
    expired: db.prepare(
      "select * from turns indexed by turns_open where state <> 'closed' and state = 'queued' " +
        `and expires <= ? order by place limit ${CHECKED_MAX}`,
    ),
    waiting: db.prepare(
      `${turns} place = ? and created <= ? and agent not in (select agent from absences)`,
    ),
    unreported: db.prepare(
      `${turns} told = 0 and agent = ? and delivery is not null order by place`,
    ),
    open: db.prepare("select count(*) as n from turns where state <> 'closed'"),
    sweep: db.prepare("delete from turns where state = 'closed' and changed <= ?"),
    cursor: db.prepare("select acked_seq from cursors where agent = ? and agent_epoch = ?"),
    dropCursors: db.prepare(
      "delete from cursors where agent = ? and " +
        "(select count(*) from cursors where agent = ?) >= ?",
    ),
    setCursor: db.prepare(
      "insert into cursors (agent, agent_epoch, acked_seq) values (?, ?, ?) " +
        "on conflict (agent, agent_epoch) do update set acked_seq = excluded.acked_seq",
    ),
  };
}
