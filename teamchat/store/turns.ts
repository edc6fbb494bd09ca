/**
 * The book of turns: handing out, events of agents, the way of an answer. Every change that is
 * acknowledged to somebody is one transaction; times are passed in. What each turn does goes to the
 * disk with what others do at that moment; the rest is written at once.
 *
 * @module
 */

import { type DurableEvent, isEventKind, readAgentEvent } from "core/dial/event.ts";
import { EVENT_LIMITS } from "core/event_limits.ts";
import { TEAMCHAT_LIMITS } from "core/limits.ts";
import type { Database } from "core/ports.ts";
import { ok, type Result } from "core/result.ts";
import { writeSql } from "core/sql_write.ts";
import type { AskedApproval } from "core/teamchat/approval_card.ts";
import type { Writer } from "teamchat/store/batch.ts";
import type { Row } from "teamchat/store/schema.ts";
import type {
  Cut,
  DeliveryOutcome,
  DeliveryProgress,
  Site,
  Turn,
  TurnOutcome,
  TurnState,
} from "teamchat/store/turn.ts";

/** What a stored event means for an answer on its way. */
export type TurnEffect =
  | { readonly kind: "started"; readonly turnId: string }
  | { readonly kind: "message"; readonly turnId: string; readonly messageId: string }
  | { readonly kind: "tool"; readonly turnId: string; readonly tool: string }
  | { readonly kind: "asked"; readonly turnId: string; readonly approval: AskedApproval }
  | { readonly kind: "ended"; readonly turnId: string };

/** What came of a batch of events. */
export interface Appended {
  readonly ackedSeq: number;
  readonly repeated: number;
  /** Events of turns that are not the agent's. */
  readonly foreign: number;
  readonly hasGap: boolean;
  readonly effects: readonly TurnEffect[];
}

/** What became of an answer, and how far it came. */
export interface Closing {
  readonly outcome: DeliveryOutcome;
  readonly reason: string | undefined;
  readonly progress?: Pick<DeliveryProgress, "partsSent" | "ids">;
}

/** The book of turns. */
export interface TurnBook {
  get(turnId: string): Turn | undefined;
  /** The oldest turn that the agent does not have. */
  nextFor(agent: string): Turn | undefined;
  /** The agent has it on its own disk; false when it is not this agent's. */
  markDelivered(agent: string, turnId: string, now: number): Promise<Result<boolean>>;
  ackedSeq(agent: string, epoch: string): number;
  /** Stores events of an agent: the number up to which all are here, and what they change. */
  append(
    agent: string,
    epoch: string,
    events: readonly DurableEvent[],
    now: number,
  ): Promise<Result<Appended>>;
  /** Turns of the agent that it should have and that have not ended. */
  heldBy(agent: string): readonly Turn[];
  /** Turns that have ended and whose answer is not out, oldest first. */
  unanswered(): readonly Turn[];
  /** Turns of which something is still to come. */
  open(): readonly Turn[];
  /** Turns that wait longer than they may. */
  expired(now: number): readonly Turn[];
  /** Agents with turns that wait since before `since`. */
  waitingSince(since: number): readonly Turn[];
  /** Ends a turn from this side. */
  end(turnId: string, how: { outcome: TurnOutcome; reason?: string }, now: number): Result<boolean>;
  requestCancel(turnId: string): Result<void>;
  setProgress(turnId: string, progress: Partial<DeliveryProgress>): Promise<Result<void>>;
  close(turnId: string, how: Closing, now: number): Promise<Result<void>>;
  /** Deliveries that the agent was not told about. */
  untold(agent: string): readonly (Turn & { readonly delivery: DeliveryOutcome })[];
  markTold(turnId: string): Promise<Result<void>>;
  openCount(): number;
  /** Forgets closed turns of before `before`. */
  sweep(before: number): void;
}

/** Opens the book over prepared tables. */
export function openTurnBook(db: Database, together: Writer): TurnBook {
  const sql = statements(db);
  const write = <T>(what: string, work: () => T) => writeSql(db, what, work);
  return {
    get: (turnId) => readTurn(sql.get.get(turnId)),
    nextFor: (agent) => readTurn(sql.next.get(agent)),
    markDelivered: (agent, turnId, now) =>
      together("the turn", () => ok(sql.deliver.run(now, turnId, agent).changes === 1)),
    ackedSeq: (agent, epoch) => Number(sql.cursor.get(agent, epoch)?.acked_seq ?? 0),
    append: (agent, epoch, events, now) =>
      together("the event", () => ok(appendAll(sql, { agent, epoch, now }, events))),
    heldBy: (agent) => readTurns(sql.held.all(agent)),
    unanswered: () => readTurns(sql.unanswered.all()),
    open: () => readTurns(sql.allOpen.all()),
    expired: (now) => readTurns(sql.expired.all(now)),
    waitingSince: (since) => readTurns(sql.waiting.all(since)),
    end: (turnId, { outcome, reason }, now) =>
      write("the turn", () => sql.end.run(outcome, reason ?? null, now, turnId).changes === 1),
    requestCancel: (turnId) =>
      write("the turn", () => {
        sql.cancel.run(turnId);
      }),
    setProgress: (turnId, progress) =>
      together("the answer", () => {
        const turn = readTurn(sql.get.get(turnId));
        if (turn === undefined) return ok(undefined);
        const next = { ...turn.progress, ...progress };
        sql.progress.run(
          ...[next.stream ?? null, next.streamAt ?? null, next.partsSent],
          ...[JSON.stringify(next.cuts), next.held ?? null, next.isSending ? 1 : 0],
          ...[JSON.stringify(next.ids), turnId],
        );
        return ok(undefined);
      }),
    close: (turnId, { outcome, reason, progress }, now) =>
      together("the answer", () => {
        const ids = progress === undefined ? null : JSON.stringify(progress.ids);
        sql.close.run(outcome, reason ?? null, progress?.partsSent ?? null, ids, now, turnId);
        return ok(undefined);
      }),
    untold: (agent) =>
      sql.untold.all(agent).flatMap((row) => {
        const turn = readTurn(row);
        return turn === undefined
          ? []
          : [{ ...turn, delivery: String(row.delivery) as DeliveryOutcome }];
      }),
    markTold: (turnId) =>
      together("the answer", () => {
        sql.told.run(turnId);
        return ok(undefined);
      }),
    openCount: () => Number(sql.open.get()?.n ?? 0),
    sweep: (before) => {
      sql.sweep.run(before);
    },
  };
}

type Statements = ReturnType<typeof statements>;

/** Takes events that are next in number; the rest is repeated, or there is a gap. */
function appendAll(
  sql: Statements,
  from: { readonly agent: string; readonly epoch: string; readonly now: number },
  events: readonly DurableEvent[],
): Appended {
  const { agent, epoch } = from;
  const before = sql.cursor.get(agent, epoch);
  // An agent that comes with epoch after epoch begins anew; who comes back numbers anew.
  if (before === undefined) sql.dropCursors.run(agent, agent, EVENT_LIMITS.epochsKept);
  let ackedSeq = Number(before?.acked_seq ?? 0);
  let [repeated, foreign, hasGap] = [0, 0, false];
  const effects: TurnEffect[] = [];
  for (const event of events) {
    if (event.seq <= ackedSeq) repeated++;
    else if (event.seq > ackedSeq + 1) {
      hasGap = true;
      break;
    } else {
      ackedSeq = event.seq;
      const taken = take(sql, from, event);
      if (taken === "foreign") foreign++;
      else if (taken !== undefined) effects.push(taken);
    }
  }
  sql.setCursor.run(agent, epoch, ackedSeq);
  return { ackedSeq, repeated, foreign, hasGap, effects };
}

function take(
  sql: Statements,
  from: { readonly agent: string; readonly now: number },
  event: DurableEvent,
): TurnEffect | "foreign" | undefined {
  const { turn_id: turnId } = event;
  if (turnId === undefined) return undefined;
  const row = sql.get.get(turnId);
  if (row === undefined || row.agent !== from.agent) return "foreign";
  const { kind, payload } = readAgentEvent(event);
  if (!isEventKind(kind)) return undefined;
  switch (kind) {
    case "turn_started":
      return sql.start.run(from.now, turnId).changes === 1
        ? { kind: "started", turnId }
        : undefined;
    case "message": {
      const before = String(row.answer);
      const text = String(payload.text ?? "");
      const answer = before === "" ? text : `${before}\n\n${text}`;
      if (answer.length > TEAMCHAT_LIMITS.answerLengthMax) return undefined;
      sql.answer.run(answer, turnId);
      return { kind: "message", turnId, messageId: String(payload.message_id ?? "") };
    }
    case "tool_call":
      return { kind: "tool", turnId, tool: String(payload.tool ?? "") };
    case "approval_asked":
      return { kind: "asked", turnId, approval: readAsked(payload) };
    case "turn_ended": {
      const outcome = String(payload.outcome ?? "failed");
      const reason = payload.reason === undefined ? null : String(payload.reason);
      return sql.end.run(outcome, reason, from.now, turnId).changes === 1
        ? { kind: "ended", turnId }
        : undefined;
    }
    default:
      return undefined;
  }
}

function readAsked(payload: Readonly<Record<string, unknown>>): AskedApproval {
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

function readTurns(rows: readonly Row[]): readonly Turn[] {
  return rows.map((row) => readTurn(row)).filter((turn) => turn !== undefined);
}

function readTurn(row: Row | undefined): Turn | undefined {
  if (row === undefined) return undefined;
  const text = (value: Row[string]) =>
    value === null || value === undefined ? undefined : String(value);
  const number = (value: Row[string]) =>
    value === null || value === undefined ? undefined : Number(value);
  return {
    turnId: String(row.turn_id),
    agent: String(row.agent),
    owner: String(row.owner),
    site: JSON.parse(String(row.site)) as Site,
    activity: text(row.activity ?? null),
    text: String(row.text),
    created: Number(row.created),
    expires: Number(row.expires),
    state: String(row.state) as TurnState,
    isCancelRequested: row.cancel_requested === 1,
    answer: String(row.answer),
    outcome: text(row.outcome ?? null) as TurnOutcome | undefined,
    reason: text(row.reason ?? null),
    sendId: text(row.send_id ?? null),
    progress: {
      stream: text(row.stream ?? null),
      streamAt: number(row.stream_at ?? null),
      partsSent: Number(row.parts_sent),
      cuts: JSON.parse(String(row.cuts)) as readonly Cut[],
      held: text(row.held ?? null),
      isSending: row.sending === 1,
      ids: JSON.parse(String(row.ids)) as readonly string[],
    },
  };
}

function statements(db: Database) {
  const turns = "select * from turns where";
  return {
    get: db.prepare(`${turns} turn_id = ?`),
    next: db.prepare(`${turns} agent = ? and state = 'queued' order by place limit 1`),
    deliver: db.prepare(
      "update turns set state = case state when 'queued' then 'delivered' else state end, " +
        "changed = ? where turn_id = ? and agent = ?",
    ),
    start: db.prepare(
      "update turns set state = 'running', changed = ? where turn_id = ? and " +
        "state in ('queued', 'delivered')",
    ),
    // What comes after the end would change a text that may be on its way in pieces.
    answer: db.prepare(
      "update turns set answer = ? where turn_id = ? and state not in ('ended', 'closed')",
    ),
    end: db.prepare(
      "update turns set state = 'ended', outcome = ?, reason = ?, changed = ? where turn_id = ? " +
        "and state not in ('ended', 'closed')",
    ),
    cancel: db.prepare("update turns set cancel_requested = 1 where turn_id = ?"),
    progress: db.prepare(
      "update turns set stream = ?, stream_at = ?, parts_sent = ?, cuts = ?, held = ?, " +
        "sending = ?, ids = ? where turn_id = ?",
    ),
    // The text is not needed any more; the id is, against a late event.
    close: db.prepare(
      "update turns set state = 'closed', delivery = ?, reason = ?, sending = 0, answer = '', " +
        "text = '', parts_sent = coalesce(?, parts_sent), ids = coalesce(?, ids), changed = ? " +
        "where turn_id = ?",
    ),
    told: db.prepare("update turns set told = 1 where turn_id = ?"),
    held: db.prepare(`${turns} agent = ? and state in ('delivered', 'running') order by place`),
    unanswered: db.prepare(`${turns} state = 'ended' order by place`),
    allOpen: db.prepare(
      `${turns} state in ('queued', 'delivered', 'running', 'ended') order by place`,
    ),
    expired: db.prepare(`${turns} state = 'queued' and expires <= ? order by place limit 256`),
    waiting: db.prepare(
      `${turns} state = 'queued' and created <= ? and agent not in (select agent from absences) ` +
        "group by agent having place = min(place) limit 256",
    ),
    untold: db.prepare(`${turns} told = 0 and agent = ? and delivery is not null order by place`),
    open: db.prepare(
      "select count(*) as n from turns where state in ('queued', 'delivered', 'running', 'ended')",
    ),
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
