/**
 * The conversations of each agent besides the default one. A turn that names a new one begins it,
 * whether it comes from here or from the agent's host: a trigger on the events adds the row.
 *
 * @module
 */

import { conversationName } from "core/dial/conversation.ts";
import { refusal } from "core/errors.ts";
import type { Database, SqlValue } from "core/ports/databases.ts";
import { err, ok, type Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";
import { CONVERSATION_LIMITS } from "gateway/limits.ts";
import type { Conversation, ConversationStore } from "gateway/transcript/event_log.ts";

const TABLE = `
create table if not exists conversations (
  place integer primary key autoincrement,
  agent text not null,
  conversation text not null,
  name text not null,
  created integer not null,
  archived integer not null default 0,
  unique (agent, conversation)
) strict;
create trigger if not exists conversation_begun after insert on events
  when new.kind in ('turn_queued', 'turn_asked') and new.payload ->> '$.conversation' is not null
begin
  insert into conversations (agent, conversation, name, created)
    select new.agent, new.payload ->> '$.conversation', new.payload ->> '$.conversation', new.at
    where ${CONVERSATION_LIMITS.perAgentMax} >
        (select count(*) from conversations where agent = new.agent)
      or exists (select 1 from conversations
        where agent = new.agent and conversation = new.payload ->> '$.conversation')
    on conflict do update set archived = 0;
end;
`;

/** Creates table and trigger. Call it in the transaction that prepares the other tables. */
export function prepareConversations(db: Database): void {
  db.exec(TABLE);
}

/** Opens the conversations of a prepared database. */
export function openConversations(db: Database): ConversationStore {
  return new SqliteConversations(db);
}

class SqliteConversations implements ConversationStore {
  readonly #db: Database;
  readonly #sql: ReturnType<typeof statements>;

  constructor(db: Database) {
    this.#db = db;
    this.#sql = statements(db);
  }

  find(agent: string, conversation: string): Conversation | undefined {
    return readConversation(this.#sql.find.get(agent, conversation));
  }

  list({ agent, before, limit, hasArchived }: Parameters<ConversationStore["list"]>[0]) {
    const below = before === undefined
      ? Number.MAX_SAFE_INTEGER
      : Number(this.#sql.find.get(agent, before)?.place ?? 0);
    const rows = this.#sql.list.all(agent, below, hasArchived ? 1 : 0, limit + 1);
    return {
      conversations: rows.slice(0, limit).flatMap((row) => readConversation(row) ?? []),
      hasMore: rows.length > limit,
    };
  }

  hasRoom(agent: string): boolean {
    return Number(this.#sql.count.get(agent)?.n ?? 0) < CONVERSATION_LIMITS.perAgentMax;
  }

  begin(of: Conversation & { readonly agent: string }): Result<Conversation> {
    const { agent, conversation, name, created } = of;
    if (!conversationName.safeParse(conversation).success || this.find(agent, conversation)) {
      return err(exists(conversation));
    }
    if (!this.hasRoom(agent)) return err(tooManyConversations(agent));
    return writeSql(this.#db, "the conversation", () => {
      this.#sql.insert.run(agent, conversation, name, Math.round(created));
      return { conversation, name, created: Math.round(created), isArchived: false };
    });
  }

  change(...[agent, conversation, to]: Parameters<ConversationStore["change"]>) {
    const before = this.find(agent, conversation);
    if (before === undefined) return err(unknown(conversation));
    const after = { ...before, ...to };
    const written = writeSql(this.#db, "the conversation", () => {
      this.#sql.change.run(after.name, after.isArchived ? 1 : 0, agent, conversation);
    });
    return written.ok ? ok(after) : written;
  }
}

function statements(db: Database) {
  return {
    find: db.prepare("select * from conversations where agent = ? and conversation = ?"),
    list: db.prepare(
      "select * from conversations where agent = ? and place < ? and archived <= ? " +
        "order by place desc limit ?",
    ),
    count: db.prepare("select count(*) as n from conversations where agent = ?"),
    insert: db.prepare(
      "insert into conversations (agent, conversation, name, created) values (?, ?, ?, ?)",
    ),
    change: db.prepare(
      "update conversations set name = ?, archived = ? where agent = ? and conversation = ?",
    ),
  };
}

function readConversation(
  row: Readonly<Record<string, SqlValue>> | undefined,
): Conversation | undefined {
  return row === undefined ? undefined : {
    conversation: String(row.conversation),
    name: String(row.name),
    created: Number(row.created),
    isArchived: Number(row.archived) === 1,
  };
}

/** The refusal of one more conversation. */
export function tooManyConversations(agent: string) {
  return refusal(
    "conversation-limit",
    `Cannot begin the conversation: agent "${agent}" has ` +
      `${CONVERSATION_LIMITS.perAgentMax}, must have fewer`,
  );
}

function exists(conversation: string) {
  return refusal(
    "conversation-exists",
    `Cannot begin conversation ${JSON.stringify(conversation)}: it exists, must be new`,
  );
}

function unknown(conversation: string) {
  return refusal(
    "conversation-unknown",
    `Cannot change conversation ${JSON.stringify(conversation)}: the agent has no such ` +
      "conversation",
  );
}
