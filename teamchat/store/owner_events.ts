/**
 * Owners' actions on answers, and the results of offered files, stored until their agent has
 * confirmed them. Kept for a day for a disconnected agent. An owner's action is kept only while the
 * agent belongs to that owner.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Database } from "core/ports/databases.ts";
import type { Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";
import type { Row } from "teamchat/store/schema.ts";

/** An event to store. */
export interface NewAgentEvent {
  readonly id: string;
  readonly agent: string;
  /** The acting owner; undefined when no owner acted. */
  readonly owner: string | undefined;
  readonly kind: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly created: number;
  /** The message that the event concerns. */
  readonly conversation: string;
  readonly message: string | undefined;
}

/** An event that the agent has not confirmed. */
export interface AgentEvent
  extends Pick<NewAgentEvent, "id" | "owner" | "kind" | "payload" | "created"> {
  /** The turn whose answer the event concerns, and its creation time. */
  readonly turn: { readonly turnId: string; readonly created: number } | undefined;
}

/** Events that wait for their agents. */
export interface AgentEventStore {
  add(event: NewAgentEvent): Result<void>;
  waiting(agent: string): readonly AgentEvent[];
  /** Call when the agent has it on its own disk. */
  confirmed(agent: string, id: string): Result<void>;
  /** Pairs of agent and owner with waiting events. */
  owners(): readonly { readonly agent: string; readonly owner: string }[];
  /** Deletes the owner's events, so that the agent gets no more of them. */
  drop(agent: string, owner: string): Result<void>;
  sweep(before: number): void;
}

/** Opens the store over prepared tables. */
export function openAgentEvents(db: Database): AgentEventStore {
  const waiting = db.prepare(
    "select * from owner_events where agent = ? order by place limit 64",
  );
  const confirm = db.prepare("delete from owner_events where agent = ? and event_id = ?");
  const sweep = db.prepare("delete from owner_events where created <= ?");
  const owners = db.prepare(
    "select distinct agent, owner from owner_events where owner is not null",
  );
  const drop = db.prepare("delete from owner_events where agent = ? and owner = ?");
  const insert = insertAgentEvent(db);
  return {
    add: (event) => writeSql(db, "the event", () => insert(event)),
    waiting: (agent) => waiting.all(agent).map(readEvent),
    confirmed: (agent, id) =>
      writeSql(db, "the event", () => {
        confirm.run(agent, id);
      }),
    owners: () =>
      owners.all().map(({ agent, owner }) => ({ agent: String(agent), owner: String(owner) })),
    drop: (agent, owner) =>
      writeSql(db, "the end of events", () => {
        drop.run(agent, owner);
      }),
    sweep: (before) => {
      sweep.run(before);
    },
  };
}

/** Returns the insert function, for the transaction of a delivery. */
export function insertAgentEvent(db: Database): (event: NewAgentEvent) => void {
  const turnOf = db.prepare(
    "select turn_id, created from turns where agent = ? and ids <> '[]' and (conversation = ? or " +
      "conversation like ? || ';%') and exists (select 1 from json_each(ids) where value = ?)",
  );
  const insert = db.prepare(
    "insert into owner_events (event_id, agent, owner, kind, payload, created, turn_id, " +
      "turn_created) values (?, ?, ?, ?, ?, ?, ?, ?)",
  );
  const trim = db.prepare(
    "delete from owner_events where agent = ?1 and place <= (select place from owner_events " +
      "where agent = ?1 order by place desc limit 1 offset ?2)",
  );
  return ({ id, agent, owner, kind, payload, created, conversation, message }) => {
    const turn = message === undefined
      ? undefined
      : turnOf.get(agent, conversation, conversation, message);
    insert.run(
      id,
      agent,
      owner ?? null,
      kind,
      JSON.stringify(payload),
      created,
      turn?.turn_id ?? null,
      turn?.created ?? null,
    );
    trim.run(agent, TEAMCHAT_LIMITS.ownerEventsMax);
  };
}

function readEvent(row: Row): AgentEvent {
  return {
    id: String(row.event_id),
    owner: row.owner === null ? undefined : String(row.owner),
    kind: String(row.kind),
    payload: JSON.parse(String(row.payload)) as Record<string, unknown>,
    created: Number(row.created),
    turn: row.turn_id === null
      ? undefined
      : { turnId: String(row.turn_id), created: Number(row.turn_created) },
  };
}
