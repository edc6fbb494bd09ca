/**
 * Counts the events of each turn by kind, so that a page of turns can report what it omits of a
 * long turn without reading it. Triggers update the counts in the transaction that changes an
 * event, in any program: `fleetctl gc` deletes events too.
 *
 * The indexes limit what a page reads: turns of an agent by their first event, events of one turn,
 * and events outside of turns.
 *
 * @module
 */

import type { Database } from "core/ports/databases.ts";
import type { EventCounts, StoredEvent } from "gateway/transcript/event_log.ts";

/**
 * Events that a page of turns shows between turns. An agent's card shows its states, so the
 * transcript contains only failures.
 */
export const OUTSIDE_TURNS =
  "turn_id is null and (kind <> 'agent_state' or payload ->> '$.state' = 'failed')";

const QUESTIONS = "('turn_queued', 'turn_asked')";
/** What one event adds to each count. Only payloads of results are parsed. */
const COUNTS: Readonly<Record<keyof EventCounts, (row: string) => string>> = {
  events: () => "1",
  // Counts results: a call has one result, but its own event may repeat.
  calls: (row) => `${row}.kind = 'tool_result'`,
  messages: (row) => `${row}.kind = 'message'`,
  notices: (row) => `${row}.kind = 'notice'`,
  failed: (row) =>
    `case when ${row}.kind = 'tool_result' then
      coalesce(${row}.payload ->> '$.status' in ('failed', 'denied'), 0) else 0 end`,
};
const NAMES = Object.keys(COUNTS) as readonly (keyof EventCounts)[];
const added = (row: string) => NAMES.map((name) => COUNTS[name](row)).join(", ");

const TABLE = `
create table if not exists turn_counts (
  agent text not null,
  turn_id text not null,
  first_seq integer not null,
  question_seq integer,
  conversation text,
  ${NAMES.map((name) => `${name} integer not null`).join(", ")},
  primary key (agent, turn_id)
) strict, without rowid;
create index if not exists turn_counts_by_start on turn_counts (agent, first_seq);
create index if not exists turn_counts_by_conversation
  on turn_counts (agent, conversation, first_seq);
create index if not exists events_of_turn on events (agent, turn_id) where turn_id is not null;
create index if not exists events_outside_turns on events (agent, seq) where ${OUTSIDE_TURNS};
`;
const TRIGGERS = `
create trigger turn_counted after insert on events when new.turn_id is not null begin
  insert into turn_counts
    (agent, turn_id, first_seq, question_seq, conversation, ${NAMES.join(", ")})
    values (new.agent, new.turn_id, new.seq,
      case when new.kind in ${QUESTIONS} then new.seq end,
      case when new.kind in ${QUESTIONS} then new.payload ->> '$.conversation' end,
      ${added("new")})
    on conflict do update set question_seq = coalesce(question_seq, excluded.question_seq),
      conversation = coalesce(conversation, excluded.conversation),
      ${NAMES.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")};
end;
create trigger if not exists turn_uncounted after delete on events
  when old.turn_id is not null begin
  update turn_counts set question_seq = nullif(question_seq, old.seq),
      first_seq = coalesce((select seq from events where agent = old.agent and
        turn_id = old.turn_id order by seq limit 1), first_seq),
      ${NAMES.map((name) => `${name} = max(0, ${name} - (${COUNTS[name]("old")}))`).join(", ")}
    where agent = old.agent and turn_id = old.turn_id;
  delete from turn_counts where agent = old.agent and turn_id = old.turn_id and events <= 0;
end;
`;
/**
 * Counts a log from an older program once, before the gateway serves. Failures are not counted:
 * that would read every payload of the log, possibly many gigabytes.
 */
const COUNT = `
insert into turn_counts (agent, turn_id, first_seq, question_seq, ${NAMES.join(", ")})
  select agent, turn_id, min(seq), min(case when kind in ${QUESTIONS} then seq end),
    ${NAMES.map((name) => name === "failed" ? "0" : `sum(${COUNTS[name]("events")})`).join(", ")}
  from events where turn_id is not null group by agent, turn_id;
`;

/** Creates table, indexes and triggers on prepared tables. Call it in their transaction. */
export function prepareTurnCounts(db: Database): void {
  const isThere = db.prepare(
    "select 1 from sqlite_schema where type = 'table' and name = 'turn_counts'",
  ).get() !== undefined;
  if (isThere) addConversation(db);
  db.exec(TABLE);
  if (!isThere) db.exec(COUNT);
  // The trigger of an older gateway does not note the conversation.
  db.exec("drop trigger if exists turn_counted");
  db.exec(TRIGGERS);
}

/** Adds the conversation to counts of an older gateway, whose turns are of the default one. */
function addConversation(db: Database): void {
  const columns = db.prepare("select name from pragma_table_info('turn_counts')").all();
  if (columns.some(({ name }) => name === "conversation")) return;
  db.exec("alter table turn_counts add column conversation text");
}

/** Returns the counts without these events. */
export function countsWithout(counts: EventCounts, events: readonly StoredEvent[]): EventCounts {
  const of = (kind: string) => events.filter((event) => event.kind === kind).length;
  const failed = events.filter(({ kind, payload }) =>
    kind === "tool_result" && (payload.status === "failed" || payload.status === "denied")
  );
  return {
    events: counts.events - events.length,
    calls: counts.calls - of("tool_result"),
    messages: counts.messages - of("message"),
    notices: counts.notices - of("notice"),
    // Failures of an older log were not counted.
    failed: Math.max(0, counts.failed - failed.length),
  };
}
