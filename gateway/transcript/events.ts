/**
 * The event log in SQLite. An agent's event is unique by agent, epoch and sequence number. The
 * cursor of an epoch moves in the same transaction, so a resend changes nothing.
 *
 * @module
 */

import { namedConversation } from "core/dial/conversation.ts";
import { type DurableEvent, readAgentEvent } from "core/dial/event.ts";
import type { Database } from "core/ports/databases.ts";
import { err, type Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";
import type { ApplyToApproval } from "gateway/approvals/approval_store.ts";
import { STREAM_LIMITS } from "gateway/limits.ts";
import type { ApplyToQuestion } from "gateway/questions/question_store.ts";
import type { Appended, EventLog, StoredEvent } from "gateway/transcript/event_log.ts";
import { readEvent, withinPage } from "gateway/transcript/event_rows.ts";
import { openTurnPages } from "gateway/transcript/turn_pages.ts";
import { agentStorageFull } from "gateway/transcript/usage.ts";

/** An event before it is stored. */
export interface EventDraft {
  readonly agent: string;
  readonly at: number;
  readonly turnId: string | undefined;
  readonly kind: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** Present for an event that has an agent's sequence number. */
  readonly source?: { readonly epoch: string; readonly seq: number };
}

/** Inserts an event. Call it only inside a transaction. */
export type InsertEvent = (draft: EventDraft) => StoredEvent;

/** Applies an agent's event to its turn, while the log stores the event. */
export type ApplyToTurn = (
  agent: string,
  event: {
    readonly kind: string;
    readonly turnId: string | undefined;
    readonly at: number;
  },
) => {
  /** Stored just before this event: the delivery, when the agent's confirmation was lost. */
  readonly before: readonly StoredEvent[];
  /** The turn has this state already, so the event must not be stored again. */
  readonly isRepeated: boolean;
  /**
   * The turn belongs to another agent: nothing changed, and the event must not be stored under
   * that turn.
   */
  readonly isForeign: boolean;
};

/** Kinds that only concern a turn and mean nothing without one. */
const TURN_MOVES: ReadonlySet<string> = new Set(["turn_started", "turn_ended"]);

/** Returns the insert function for a database. */
export function insertInto(db: Database): InsertEvent {
  const statement = db.prepare(
    "insert into events (agent, agent_epoch, agent_seq, at, turn_id, kind, payload) " +
      "values (?, ?, ?, ?, ?, ?, ?)",
  );
  return (draft) => {
    const { agent, at, turnId, kind, payload, source } = draft;
    const { lastInsertRowid } = statement.run(
      agent,
      source?.epoch ?? null,
      source?.seq ?? null,
      Math.round(at),
      turnId ?? null,
      kind,
      JSON.stringify(payload),
    );
    return { seq: lastInsertRowid, agent, at: Math.round(at), turnId, kind, payload };
  };
}

/** Dependencies of the log. */
interface EventLogDeps {
  readonly insert: InsertEvent;
  readonly applyToTurn: ApplyToTurn;
  readonly applyToApproval: ApplyToApproval;
  readonly applyToQuestion: ApplyToQuestion;
  readonly hasRoom: (agent: string) => boolean;
}

/** Opens the log of a prepared database. */
export function openEventLog(db: Database, epoch: string, deps: EventLogDeps): EventLog {
  const events = new AgentEvents(db, deps);
  return {
    epoch,
    ...openReads(db),
    ...openTurnPages(db),
    hasRoom: (agent) => Promise.resolve(deps.hasRoom(agent)),
    appendFromAgent: (agent, agentEpoch, sent) =>
      Promise.resolve(events.append(agent, agentEpoch, sent)),
    ackedSeq: (agent, agentEpoch) => Promise.resolve(events.ackedSeq(agent, agentEpoch)),
  };
}

/** Stores agents' events in the order of their sequence numbers. */
class AgentEvents {
  readonly #db: Database;
  readonly #deps: EventLogDeps;
  readonly #sql: ReturnType<typeof agentStatements>;

  constructor(db: Database, deps: EventLogDeps) {
    this.#db = db;
    this.#deps = deps;
    this.#sql = agentStatements(db);
  }

  /** Returns the number up to which the events of an epoch are stored. */
  ackedSeq(agent: string, agentEpoch: string): number {
    return Number(this.#sql.cursor.get(agent, agentEpoch)?.acked_seq ?? 0);
  }

  /** Stores the next events; stops at a gap and skips repeated ones. */
  append(agent: string, agentEpoch: string, events: readonly DurableEvent[]): Result<Appended> {
    const there = this.ackedSeq(agent, agentEpoch);
    if (!this.#deps.hasRoom(agent) && events.some(({ seq }) => seq > there)) {
      return err(agentStorageFull("the event", agent));
    }
    return writeSql(this.#db, "the event", () => {
      const before = this.ackedSeq(agent, agentEpoch);
      let acked = before;
      const stored: StoredEvent[] = [];
      let hasGap = false;
      let repeated = 0;
      let otherAgents = 0;
      for (const event of events) {
        if (event.seq <= acked) {
          repeated++;
          continue;
        }
        if (event.seq !== acked + 1) {
          hasGap = true;
          break;
        }
        const { added, isForeign } = this.#storeOne(agent, agentEpoch, event);
        stored.push(...added);
        if (isForeign) otherAgents++;
        acked = event.seq;
      }
      if (acked !== before) this.#sql.moveCursor.run(agent, agentEpoch, acked);
      return { stored, ackedSeq: acked, repeated, otherAgents, hasGap };
    });
  }

  /**
   * An agent may only report on its own turns. An event that names another agent's turn is stored
   * without that turn, or dropped if it means nothing without one.
   */
  #storeOne(agent: string, agentEpoch: string, event: DurableEvent) {
    const { insert, applyToTurn, applyToApproval, applyToQuestion } = this.#deps;
    const { kind, payload } = readAgentEvent(event);
    const turn = applyToTurn(agent, { kind, turnId: event.turn_id, at: event.at });
    const { isForeign } = turn;
    if (turn.isRepeated || (isForeign && TURN_MOVES.has(kind))) {
      return { added: turn.before, isForeign };
    }
    if (kind === "agent_state") {
      const state = payload as { state: string; reason?: string; since: number };
      const since = Math.round(state.since);
      this.#sql.remember.run(agent, state.state, state.reason ?? null, since);
    }
    const turnId = isForeign ? undefined : event.turn_id;
    const applied = { kind, turnId, at: event.at, payload };
    applyToApproval(agent, applied);
    applyToQuestion(agent, applied);
    const draft = { agent, at: event.at, turnId, kind, payload };
    const source = { epoch: agentEpoch, seq: event.seq };
    return { added: [...turn.before, insert({ ...draft, source })], isForeign };
  }
}

function agentStatements(db: Database) {
  return {
    cursor: db.prepare("select acked_seq from cursors where agent = ? and agent_epoch = ?"),
    moveCursor: db.prepare(
      "insert into cursors (agent, agent_epoch, acked_seq) values (?, ?, ?) " +
        "on conflict do update set acked_seq = excluded.acked_seq",
    ),
    remember: db.prepare(
      "insert into agents (agent, state, reason, since) values (?, ?, ?, ?) " +
        "on conflict do update set state = excluded.state, reason = excluded.reason, " +
        "since = excluded.since",
    ),
  };
}

function openReads(
  db: Database,
): Pick<EventLog, "head" | "after" | "countAfter" | "page"> {
  const among = "agent in (select value from json_each(?))";
  // `octet_length` reads only a value's header, so sizes are known before any payload is read.
  const sizes = "select seq, octet_length(payload) as bytes from events";
  const head = db.prepare("select seq from events order by seq desc limit 1");
  const sizesOne = db.prepare(`${sizes} where agent = ? and seq > ? order by seq limit ?`);
  const sizesMany = db.prepare(`${sizes} where ${among} and seq > ? order by seq limit ?`);
  const sizesBelow = db.prepare(`${sizes} where agent = ? and seq < ? order by seq desc limit ?`);
  const ofOne = "agent = ?1 and turn_id in " +
    "(select turn_id from turn_counts where agent = ?1 and conversation is ?2)";
  const sizesOfOne = db.prepare(`${sizes} where ${ofOne} and seq < ?3 order by seq desc limit ?4`);
  const readOfOne = db.prepare(
    `select * from events where ${ofOne} and seq between ?3 and ?4 order by seq`,
  );
  const readOne = db.prepare(
    "select * from events where agent = ? and seq between ? and ? order by seq",
  );
  const readMany = db.prepare(
    `select * from events where ${among} and seq between ? and ? order by seq`,
  );
  const count = db.prepare(
    `select count(*) as n from (select 1 from events where seq > ? and ${among} limit ?)`,
  );
  return {
    head: () => Promise.resolve(Number(head.get()?.seq ?? 0)),
    after: ({ agents, after, limit, bytesMax }) => {
      const [only, another] = agents;
      if (only === undefined) return Promise.resolve([]);
      const isOne = another === undefined;
      const who = isOne ? only : JSON.stringify(agents);
      const found = (isOne ? sizesOne : sizesMany).all(who, after, limit);
      const last = withinPage(found, bytesMax ?? STREAM_LIMITS.pageBytesMax).at(-1);
      if (last === undefined) return Promise.resolve([]);
      const rows = (isOne ? readOne : readMany).all(who, after + 1, Number(last.seq));
      return Promise.resolve(rows.map(readEvent));
    },
    countAfter: ({ agents, after, max }) =>
      Promise.resolve(Number(count.get(after, JSON.stringify(agents), max)?.n ?? 0)),
    page: ({ agent, before, limit, conversation }) => {
      const below = before ?? Number.MAX_SAFE_INTEGER;
      const of = namedConversation(conversation) ?? null;
      const found = conversation === undefined
        ? sizesBelow.all(agent, below, limit + 1)
        : sizesOfOne.all(agent, of, below, limit + 1);
      const kept = withinPage(found.slice(0, limit), STREAM_LIMITS.pageBytesMax);
      const first = kept.at(-1);
      const rows = first === undefined
        ? []
        : conversation === undefined
        ? readOne.all(agent, Number(first.seq), below - 1)
        : readOfOne.all(agent, of, Number(first.seq), below - 1);
      return Promise.resolve({
        events: rows.map(readEvent),
        hasMore: found.length > kept.length,
      });
    },
  };
}
