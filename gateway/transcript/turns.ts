/**
 * The turn store in SQLite. States only move forward: queued → sent → delivered → started → ended.
 * A turn ends exactly once. Each move but the one to `sent` has an event in the same transaction.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { TURN_LIMITS } from "core/limits/turn.ts";
import type { Database } from "core/ports/databases.ts";
import { err, ok, type Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";
import type {
  NewTurn,
  StoredEvent,
  Turn,
  TurnChange,
  TurnState,
  TurnStore,
} from "gateway/transcript/event_log.ts";
import type { ApplyToTurn, InsertEvent } from "gateway/transcript/events.ts";
import type { Row } from "gateway/transcript/schema.ts";

const CANCELLED = {
  outcome: "cancelled",
  code: "cancelled-before-delivery",
  reason: "Cancelled before the agent had it",
};
const NOT_STORED_YET: ReadonlySet<TurnState> = new Set(["queued", "sent"]);

/** Opens the turn store of a prepared database, and the hook for agents' events. */
export function openTurnStore(
  db: Database,
  insert: InsertEvent,
): { readonly store: TurnStore; readonly applyToTurn: ApplyToTurn } {
  const turns = new SqliteTurnStore(db, insert);
  return { store: turns, applyToTurn: (agent, event) => turns.applyEvent(agent, event) };
}

class SqliteTurnStore implements TurnStore {
  readonly #db: Database;
  readonly #insert: InsertEvent;
  readonly #sql: ReturnType<typeof statements>;

  constructor(db: Database, insert: InsertEvent) {
    this.#db = db;
    this.#insert = insert;
    this.#sql = statements(db);
  }

  /** Applies an agent's event to its turn. Called inside the transaction that stores the event. */
  applyEvent(...[agent, event]: Parameters<ApplyToTurn>): ReturnType<ApplyToTurn> {
    const before: StoredEvent[] = [];
    const turn = event.turnId === undefined ? undefined : this.#get(event.turnId);
    const isForeign = turn !== undefined && turn.agent !== agent;
    const isMove = event.kind === "turn_started" || event.kind === "turn_ended";
    if (turn === undefined || isForeign || !isMove) return { before, isRepeated: false, isForeign };
    const isRepeated = turn.state === "ended" ||
      (event.kind === "turn_started" && turn.state === "started");
    if (isRepeated) return { before, isRepeated, isForeign };
    // A lost connection dropped the agent's confirmation. Its work proves that it has the turn.
    if (NOT_STORED_YET.has(turn.state)) before.push(this.#deliver(turn, event.at));
    this.#sql.setState.run(event.kind === "turn_started" ? "started" : "ended", turn.turnId);
    return { before, isRepeated, isForeign };
  }

  async queue(turn: NewTurn): Promise<Result<TurnChange & { readonly isNew: boolean }>> {
    const there = readTurn(this.#sql.byKey.get(turn.asker, turn.idempotencyKey));
    if (there !== undefined) {
      const isSame = there.agent === turn.agent && there.text === turn.text &&
        there.conversation === turn.conversation;
      return isSame
        ? ok({ turn: there, stored: [], isNew: false })
        : err(keyReused(turn.idempotencyKey));
    }
    if (Number(this.#sql.countOpen.get(turn.agent)?.n ?? 0) >= TURN_LIMITS.queuedTurnsMax) {
      return err(queueFull(turn.agent));
    }
    return this.#write(() => ({ ...this.#add(turn), isNew: true }));
  }

  async cancel(turnId: string, at: number): Promise<Result<TurnChange>> {
    const turn = this.#get(turnId);
    if (turn === undefined) return err(turnUnknown(turnId));
    if (turn.state === "ended") return ok({ turn, stored: [] });
    return this.#write((): TurnChange => {
      if (turn.state === "queued") {
        return { turn: { ...turn, state: "ended" }, stored: [this.#end(turn, at, CANCELLED)] };
      }
      this.#sql.requestCancel.run(turnId);
      return { turn: { ...turn, isCancelRequested: true }, stored: [] };
    });
  }

  async markSent(turnId: string): Promise<Result<void>> {
    return this.#write(() => {
      this.#sql.markSent.run(turnId);
    });
  }

  async markDelivered(
    agent: string,
    turnId: string,
    at: number,
  ): Promise<Result<readonly StoredEvent[]>> {
    return this.#write(() => {
      const turn = this.#get(turnId);
      const isNews = turn?.agent === agent && NOT_STORED_YET.has(turn.state);
      return isNews ? [this.#deliver(turn, at)] : [];
    });
  }

  async giveUp(
    turnId: string,
    at: number,
    why: { readonly code: string; readonly reason: string },
  ): Promise<Result<readonly StoredEvent[]>> {
    return this.#write(() => {
      const turn = this.#get(turnId);
      if (turn === undefined || turn.state === "ended") return [];
      return [this.#end(turn, at, { outcome: "interrupted", ...why })];
    });
  }

  async find(turnId: string): Promise<Turn | undefined> {
    return this.#get(turnId);
  }

  async nextFor(agent: string): Promise<Turn | undefined> {
    return readTurn(this.#sql.next.get(agent));
  }

  async runningOf(agent: string): Promise<Turn | undefined> {
    return readTurn(this.#sql.running.get(agent));
  }

  async openOf(agent: string): Promise<readonly Turn[]> {
    return this.#sql.open.all(agent).flatMap((row) => readTurn(row) ?? []);
  }

  async counts(): Promise<Readonly<Record<TurnState, number>>> {
    const counts = { queued: 0, sent: 0, delivered: 0, started: 0, ended: 0 };
    for (const row of this.#sql.counts.all()) {
      counts[String(row.state) as TurnState] = Number(row.n);
    }
    return counts;
  }

  #get(turnId: string): Turn | undefined {
    return readTurn(this.#sql.find.get(turnId));
  }

  #write<T>(work: () => T): Result<T> {
    return writeSql(this.#db, "the turn", work);
  }

  #add(turn: NewTurn): TurnChange {
    const { turnId, agent, text, origin, hops, asker, idempotencyKey, at, conversation } = turn;
    const payload = { text, origin, hops, ...defined({ conversation }) };
    const event = this.#insert({ agent, at, turnId, kind: "turn_queued", payload });
    this.#sql.insert.run(
      turnId,
      agent,
      text,
      origin,
      hops,
      asker,
      idempotencyKey,
      Math.round(at),
      event.seq,
      conversation ?? null,
    );
    const stored = this.#get(turnId);
    if (stored === undefined) throw new Error("the turn that was just stored is not there");
    return { turn: stored, stored: [event] };
  }

  #deliver({ agent, turnId }: Turn, at: number): StoredEvent {
    this.#sql.setState.run("delivered", turnId);
    return this.#insert({ agent, at, turnId, kind: "turn_delivered", payload: {} });
  }

  #end({ agent, turnId }: Turn, at: number, payload: Record<string, unknown>): StoredEvent {
    this.#sql.setState.run("ended", turnId);
    return this.#insert({ agent, at, turnId, kind: "turn_ended", payload });
  }
}

function statements(db: Database) {
  // Repeats the condition of the partial index `turns_open`; otherwise SQLite scans the whole
  // history.
  const open = "select * from turns where agent = ? and state <> 'ended' and state in";
  return {
    find: db.prepare("select * from turns where turn_id = ?"),
    byKey: db.prepare("select * from turns where asker = ? and idempotency_key = ?"),
    next: db.prepare(`${open} ('queued', 'sent') order by seq limit 1`),
    running: db.prepare(`${open} ('started') order by hops desc limit 1`),
    open: db.prepare(`${open} ('delivered', 'started') order by seq`),
    countOpen: db.prepare("select count(*) as n from turns where agent = ? and state <> 'ended'"),
    counts: db.prepare("select state, count(*) as n from turns group by state"),
    insert: db.prepare(
      "insert into turns (turn_id, agent, text, origin, hops, asker, idempotency_key, state, " +
        "created, seq, conversation) values (?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?)",
    ),
    setState: db.prepare("update turns set state = ? where turn_id = ?"),
    markSent: db.prepare("update turns set state = 'sent' where turn_id = ? and state = 'queued'"),
    requestCancel: db.prepare("update turns set cancel_requested = 1 where turn_id = ?"),
  };
}

function readTurn(row: Row | undefined): Turn | undefined {
  if (row === undefined) return undefined;
  return {
    turnId: String(row.turn_id),
    agent: String(row.agent),
    text: String(row.text),
    origin: String(row.origin),
    hops: Number(row.hops),
    state: String(row.state) as TurnState,
    isCancelRequested: Number(row.cancel_requested) === 1,
    created: Number(row.created),
    seq: Number(row.seq),
    ...(row.conversation === null ? {} : { conversation: String(row.conversation) }),
  };
}

function keyReused(key: string) {
  return refusal(
    "turn-key-reused",
    `Cannot queue the turn: idempotency key ${JSON.stringify(key)} belongs to another turn, ` +
      "must be new for another text",
  );
}

function queueFull(agent: string) {
  return refusal(
    "turn-queue-full",
    `Cannot queue the turn: ${TURN_LIMITS.queuedTurnsMax} turns of agent "${agent}" are open, ` +
      "must be fewer",
  );
}

function turnUnknown(turnId: string) {
  return refusal("turn-unknown", `Cannot find turn ${JSON.stringify(turnId)}: there is none`);
}
