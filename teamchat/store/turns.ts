/**
 * The turn store: sending turns out, agents' events, delivery of answers. Each acknowledged change
 * is one transaction; times are arguments. Frequent writes of turns are batched; the rest is
 * written at once.
 *
 * @module
 */

import type { DurableEvent } from "core/dial/event.ts";
import type { Database } from "core/ports/databases.ts";
import { ok, type Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";
import type { Writing } from "teamchat/store/batch.ts";
import type { Row } from "teamchat/store/schema.ts";
import { type Appended, isOver, TurnEvents } from "teamchat/store/turn_events.ts";
import {
  readTurn,
  type StoredTurn,
  type TurnChange,
  type TurnRows,
} from "teamchat/store/turn_rows.ts";
import type { DeliveryOutcome, DeliveryProgress, Turn, TurnOutcome } from "teamchat/store/turn.ts";

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
  /**
   * The oldest queued turn of each agent, if it was created by `since` and no absence of the agent
   * is noted.
   */
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
  writing: Pick<Writing, "write" | "writeLater">,
  rows: TurnRows,
): TurnStore {
  return new SqliteTurnStore(db, writing, rows);
}

class SqliteTurnStore implements TurnStore {
  readonly #db: Database;
  readonly #writing: Pick<Writing, "write" | "writeLater">;
  readonly #rows: TurnRows;
  readonly #events: TurnEvents;
  readonly #sql: ReturnType<typeof statements>;

  constructor(db: Database, writing: Pick<Writing, "write" | "writeLater">, rows: TurnRows) {
    this.#db = db;
    this.#writing = writing;
    this.#rows = rows;
    this.#events = new TurnEvents(db, rows);
    this.#sql = statements(db);
  }

  get(turnId: string): Turn | undefined {
    return this.#rows.get(turnId);
  }

  nextFor(agent: string): { readonly turn: Turn; readonly isLast: boolean } | undefined {
    const { open } = this.#rows;
    const place = open.next(agent);
    const row = place === undefined ? undefined : this.#sql.at.get(place);
    if (row === undefined) return undefined;
    const turn = readTurn(row);
    this.#rows.offer(turn);
    return { turn, isLast: open.queuedCount(agent) === 1 };
  }

  markDelivered(agent: string, turnId: string, now: number): Promise<Result<boolean>> {
    return this.#writing.write(
      "the turn",
      () => ok(deliver(this.#rows, { agent, now }, turnId)),
    );
  }

  ackedSeq(agent: string, epoch: string): number {
    return this.#events.ackedSeq(agent, epoch);
  }

  append(...[agent, epoch, events, now]: Parameters<TurnStore["append"]>) {
    const from = { agent, epoch, now };
    return this.#writing.write("the event", () => ok(this.#events.append(from, events)));
  }

  heldBy(agent: string): readonly Turn[] {
    return this.#rows.open.held(agent).flatMap((place) => readTurns(this.#sql.at.all(place)));
  }

  unanswered(): readonly Turn[] {
    return readTurns(this.#sql.unanswered.all());
  }

  open(): readonly Turn[] {
    return readTurns(this.#sql.allOpen.all());
  }

  expired(now: number): readonly Turn[] {
    return readTurns(this.#sql.expired.all(now));
  }

  waitingSince(since: number): readonly Turn[] {
    const waiting: StoredTurn[] = [];
    for (const place of this.#rows.open.oldest()) {
      if (waiting.length === CHECKED_MAX) break;
      waiting.push(...readTurns(this.#sql.waiting.all(place, since)));
    }
    return waiting;
  }

  end(
    turnId: string,
    { outcome, reason }: { outcome: TurnOutcome; reason?: string },
    now: number,
  ): Result<boolean> {
    return this.#writeNow(() => {
      const turn = this.#rows.get(turnId);
      if (turn === undefined || isOver(turn)) return false;
      this.#rows.change(turn, { state: "ended", outcome, reason, changed: now });
      return true;
    });
  }

  requestCancel(turnId: string): Result<void> {
    return this.#writeNow(() => {
      const turn = this.#rows.get(turnId);
      if (turn !== undefined) this.#rows.change(turn, { isCancelRequested: true });
    });
  }

  setProgress(turnId: string, progress: Partial<DeliveryProgress>): Promise<Result<void>> {
    return this.#changeAnswer(turnId, (turn) => ({ progress: { ...turn.progress, ...progress } }));
  }

  close(turnId: string, how: Closing, now: number): Promise<Result<void>> {
    return this.#changeAnswer(turnId, (turn) => closing(turn, how, now));
  }

  unreported(agent: string): readonly (Turn & { readonly delivery: DeliveryOutcome })[] {
    return readTurns(this.#sql.unreported.all(agent)).flatMap((turn) => {
      const { delivery } = turn;
      return delivery === undefined ? [] : [{ ...turn, delivery }];
    });
  }

  markReported(turnId: string): Promise<Result<void>> {
    return this.#writing.writeLater("the answer", () => {
      this.#sql.told.run(turnId);
      return ok(undefined);
    });
  }

  openCount(): number {
    return Number(this.#sql.open.get()?.n ?? 0);
  }

  sweep(before: number): void {
    this.#sql.sweep.run(before);
  }

  /** Changes the answer of a turn; an unknown turn is no fault. */
  #changeAnswer(
    turnId: string,
    changeOf: (turn: StoredTurn) => TurnChange,
  ): Promise<Result<void>> {
    return this.#writing.write("the answer", () => {
      const turn = this.#rows.get(turnId);
      if (turn !== undefined) this.#rows.change(turn, changeOf(turn));
      return ok(undefined);
    });
  }

  /** Writes one change of a turn in its own transaction. */
  #writeNow<T>(work: () => T): Result<T> {
    let isDone = false;
    try {
      this.#rows.begin();
      const written = writeSql(this.#db, "the turn", () => {
        const value = work();
        this.#rows.save();
        return value;
      });
      isDone = written.ok;
      return written;
    } finally {
      if (!isDone) this.#rows.forget();
    }
  }
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
  };
}
