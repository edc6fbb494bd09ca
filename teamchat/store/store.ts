/**
 * Opens the gateway's database: deliveries, turns, conversations and absences in one SQLite file,
 * so that a delivery and its turn are written in one transaction.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { Database, Databases } from "core/ports/databases.ts";
import type { Log } from "core/ports/log.ts";
import { ok, type Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";
import { openWriter } from "teamchat/store/batch.ts";
import {
  type ConversationCache,
  createConversationCache,
} from "teamchat/store/conversation_cache.ts";
import { type Intake, openIntake } from "teamchat/store/intake.ts";
import { prepareSchema, type Row } from "teamchat/store/schema.ts";
import type { Conversation, ReplyContext } from "teamchat/store/turn.ts";
import { openTurnRows } from "teamchat/store/turn_rows.ts";
import { type AgentEventStore, openAgentEvents } from "teamchat/store/owner_events.ts";
import { openTurnFiles, type TurnFileStore } from "teamchat/store/turn_files.ts";
import { openOwnerFiles, type OwnerFileStore } from "teamchat/store/owner_files.ts";
import { openSends, type SendStore } from "teamchat/store/sends.ts";
import { openTurnStore, type TurnStore } from "teamchat/store/turns.ts";

/** Conversations with owners, for messages without a turn. */
export interface ConversationStore {
  /** The owner's latest personal conversation. */
  personalOf(owner: string): Conversation | undefined;
  get(conversation: string): Conversation | undefined;
  block(conversation: string, why: string): Result<void>;
}

/** Agents whose owners were notified that they are disconnected. */
export interface Absences {
  note(agent: string, now: number): Result<void>;
  /** Call when the agent is back: the next absence is reported again. */
  clear(agent: string): Result<void>;
}

/** The whole store of the gateway. */
export interface TeamchatStore {
  readonly intake: Intake;
  readonly turns: TurnStore;
  readonly sends: SendStore;
  readonly turnFiles: TurnFileStore;
  readonly ownerFiles: OwnerFileStore;
  readonly ownerEvents: AgentEventStore;
  readonly conversations: ConversationStore;
  readonly absences: Absences;
  /** Calls `job` just before the next write to the disk, which includes what `job` stores. */
  beforeNext(job: () => void): void;
  /**
   * Stores a nonce until it expires. Returns false when it was already stored, or the write
   * failed.
   */
  takeNonce(nonce: string, until: number): Promise<boolean>;
  close(): void;
}

/**
 * After a batch, all writes but the platform's deliveries wait this many times its duration, up to
 * a few milliseconds.
 */
const GAP_FACTOR = 8;

/** Size of SQLite's page cache (`cache_size`); a smaller one reads pages again at each delivery. */
const CACHE_KIB = 16 * 1_024;

/** Opens or creates the store; rejects when the file cannot be opened. */
export async function openTeamchatStore(
  databases: Databases,
  path: string,
  clock: Pick<Clock, "after" | "monotonic">,
  log: Log,
): Promise<TeamchatStore> {
  const db = await databases.open(path);
  db.exec(`pragma cache_size = -${CACHE_KIB}`);
  prepareSchema(db);
  const take = db.prepare(
    "insert into seen (key, until) values (?, ?) on conflict (key) do nothing",
  );
  // One writer for all: deliveries, agents' events and progress of answers share the waits for the
  // disk.
  const rows = openTurnRows(db);
  const conversationCache = createConversationCache();
  const held = {
    begin: () => rows.begin(),
    save: () => rows.save(),
    forget: () => {
      rows.forget();
      conversationCache.forget();
    },
  };
  const writing = openWriter({ db, clock, log, rows: held, gapFactor: GAP_FACTOR });
  const { write, writeFirst, beforeNext, flush } = writing;
  return {
    beforeNext,
    takeNonce: async (nonce, until) => {
      const stored = await write(
        "the nonce",
        () => ok(take.run(`nonce|${nonce}`, until).changes === 1),
      );
      return stored.ok && stored.value;
    },
    // Deliveries run first in a batch: an edit reads the row of a turn, and the writes after it
    // change rows in memory.
    intake: openIntake(db, {
      clock,
      log,
      write: writeFirst,
      conversations: conversationCache,
      open: rows.open,
    }),
    turns: openTurnStore(db, writing, rows),
    sends: openSends(db),
    turnFiles: openTurnFiles(db),
    ownerFiles: openOwnerFiles(db),
    ownerEvents: openAgentEvents(db),
    conversations: openConversations(db, conversationCache),
    absences: openAbsences(db),
    close: () => {
      flush();
      db.close();
    },
  };
}

function openConversations(db: Database, conversationCache: ConversationCache): ConversationStore {
  const latest = db.prepare(
    "select * from conversations where owner = ? and type = 'personal' order by seen desc limit 1",
  );
  const one = db.prepare("select * from conversations where conversation = ?");
  const block = db.prepare("update conversations set blocked = ? where conversation = ?");
  return {
    personalOf: (owner) => readConversation(latest.get(owner)),
    get: (conversation) => readConversation(one.get(conversation)),
    block: (conversation, why) =>
      writeSql(db, "the conversation", () => {
        block.run(why, conversation);
        conversationCache.forget();
      }),
  };
}

function openAbsences(db: Database): Absences {
  const note = db.prepare("insert or replace into absences (agent, noticed) values (?, ?)");
  const clear = db.prepare("delete from absences where agent = ?");
  return {
    note: (agent, now) =>
      writeSql(db, "the notice", () => {
        note.run(agent, now);
      }),
    clear: (agent) =>
      writeSql(db, "the notice", () => {
        clear.run(agent);
      }),
  };
}

function readConversation(row: Row | undefined): Conversation | undefined {
  return row === undefined ? undefined : {
    owner: String(row.owner),
    agent: String(row.agent),
    context: JSON.parse(String(row.site)) as ReplyContext,
    seen: Number(row.seen),
    blocked: row.blocked === null ? undefined : String(row.blocked),
  };
}
