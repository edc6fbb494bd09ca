/**
 * Stored bytes of each agent. Triggers update the sum in the transaction that changes an event, in
 * any program: `fleetctl gc` frees space by deleting events.
 *
 * An agent's share counts what it sent, and its messages to other agents, which are stored in
 * their transcripts. It does not count what owners wrote to the agent. Each event also counts its
 * row and its index entries.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { EVENT_LIMITS } from "core/limits/event.ts";
import type { Database } from "core/ports/databases.ts";
import type { UsageStore } from "gateway/transcript/event_log.ts";

/** The agent whose share counts a row; null for an event of an owner or of the gateway. */
const payerOf = (row: string) =>
  `case when ${row}.agent_seq is not null then ${row}.agent
    when ${row}.kind = 'turn_queued' and ${row}.payload ->> '$.origin' like 'agent:%'
    then substr(${row}.payload ->> '$.origin', 7) end`;
const costOf = (row: string) => `octet_length(${row}.payload) + ${EVENT_LIMITS.rowBytes}`;

const TABLE = `
create table if not exists agent_bytes (
  agent text primary key,
  bytes integer not null
) strict, without rowid;
`;
const TRIGGERS = `
create trigger if not exists event_added after insert on events begin
  insert into agent_bytes (agent, bytes)
    select ${payerOf("new")}, ${costOf("new")} where ${payerOf("new")} is not null
    on conflict do update set bytes = bytes + excluded.bytes;
end;
create trigger if not exists event_removed after delete on events begin
  update agent_bytes set bytes = max(0, bytes - (${costOf("old")})) where agent = ${payerOf("old")};
end;
create trigger if not exists cursor_added after insert on cursors begin
  insert into agent_bytes (agent, bytes) values (new.agent, ${EVENT_LIMITS.rowBytes})
    on conflict do update set bytes = bytes + excluded.bytes;
end;
`;
/** Counts a log from an older program once. */
const COUNT = `
insert into agent_bytes (agent, bytes)
  select payer, sum(cost) from (
    select ${payerOf("events")} as payer, ${costOf("events")} as cost from events
  ) where payer is not null group by payer;
`;

/** Creates table and triggers on prepared tables. Call it in their transaction. */
export function prepareUsage(db: Database): void {
  const isThere = db.prepare(
    "select 1 from sqlite_schema where type = 'table' and name = 'agent_bytes'",
  ).get() !== undefined;
  db.exec(TABLE);
  if (!isThere) db.exec(COUNT);
  db.exec(TRIGGERS);
}

/** Storage used by each agent, and whether it may store more. */
export interface Usage extends UsageStore {
  /** Checked before a batch: a batch that began below the limit is stored whole. */
  hasRoom(agent: string): boolean;
}

/** Opens the sums of a prepared database; `bytesMax` is the share of each agent. */
export function openUsage(db: Database, bytesMax: number): Usage {
  const used = db.prepare("select bytes from agent_bytes where agent = ?");
  const most = db.prepare("select max(bytes) as bytes from agent_bytes");
  const oldest = db.prepare("select at from events where agent = ? order by seq limit 1");
  const bytesOf = (agent: string) => Number(used.get(agent)?.bytes ?? 0);
  return {
    hasRoom: (agent) => bytesOf(agent) < bytesMax,
    of: (agent) => {
      const first = oldest.get(agent);
      return {
        bytes: bytesOf(agent),
        bytesMax,
        oldest: first === undefined ? undefined : Number(first.at),
      };
    },
    fullest: () => Number(most.get()?.bytes ?? 0) / bytesMax,
  };
}

/** Refusal for an agent that has used its share; `what` names what it tried to store. */
export function agentStorageFull(what: string, agent: string) {
  return refusal(
    "agent-storage-full",
    `Cannot store ${what}: agent ${JSON.stringify(agent)} has as much as one agent may store ` +
      "at this gateway, must have less",
    { hints: ["fleetctl gc --events 90d"] },
  );
}
