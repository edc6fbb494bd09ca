/**
 * Stores each delivery exactly once: its key, its conversation and its turn are written in one
 * transaction, and acknowledged afterwards. Deliveries that arrive together share one write to the
 * disk; each gets its own answer.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Database } from "core/ports/databases.ts";
import type { Log } from "core/ports/log.ts";
import { err, ok, type Result } from "core/result.ts";
import type { FileConsent } from "teamchat/files/file_consent.ts";
import { writeBatch, type Writer } from "teamchat/store/batch.ts";
import { insertAgentEvent, type NewAgentEvent } from "teamchat/store/owner_events.ts";
import { takeConsent } from "teamchat/store/owner_files.ts";
import type { ConversationCache } from "teamchat/store/conversation_cache.ts";
import type { OpenTurns } from "teamchat/store/open_turns.ts";
import type { Conversation, NewTurn } from "teamchat/store/turn.ts";

/** One delivery. */
export interface Delivery {
  /** Keys that identify a repetition, with their expiry times. */
  readonly keys: readonly { readonly key: string; readonly until: number }[];
  readonly now: number;
  /** The owner's conversation at the time of this delivery. */
  readonly conversation?: Conversation;
  readonly turn?: NewTurn;
  /** The owner changed the text of a message; a turn that the agent already has is not changed. */
  readonly edit?: {
    readonly agent: string;
    readonly conversation: string;
    readonly activity: string;
    readonly text: string;
  };
  /** The owner deleted a message. */
  readonly withdraw?: {
    readonly agent: string;
    readonly conversation: string;
    readonly activity: string;
  };
  /** The bot was removed from a conversation. */
  readonly block?: { readonly conversation: string; readonly why: string };
  /** The owner's action on an answer. */
  readonly event?: NewAgentEvent;
  /** The owner's answer about a file. */
  readonly consent?: FileConsent;
  /** Default answer of an invoke; a repetition gets the same. */
  readonly answer?: string;
}

/** What was stored. */
export type Stored =
  | {
    readonly kind: "new";
    readonly isNewConversation: boolean;
    readonly hasTurn: boolean;
    /** Whether the consent counts: the first one, from the requested owner, within a day. */
    readonly isConsentTaken: boolean;
  }
  | { readonly kind: "duplicate"; readonly answer: string | undefined };

/** Nothing was stored: the agent no longer belongs to the person who wrote. */
export interface NotStored {
  readonly kind: "overtaken";
}

/** Stores deliveries. */
export interface Intake {
  /**
   * Resolves after the write is on disk; never rejects. `isCurrent` is evaluated inside the
   * transaction, because the owners may have changed since the delivery was created.
   */
  store(delivery: Delivery): Promise<Result<Stored>>;
  store(delivery: Delivery, isCurrent: () => boolean): Promise<Result<Stored | NotStored>>;
  /** Deletes expired keys. */
  sweep(now: number): void;
}

/** Opens the store of deliveries over prepared tables. */
export function openIntake(
  db: Database,
  deps: {
    readonly clock: Pick<Clock, "after">;
    readonly log: Log;
    readonly write: Writer;
    /** Cleared after a rollback, because its rows are gone as well. */
    readonly conversations: ConversationCache;
    readonly open: OpenTurns;
  },
): Intake {
  const sql = { ...statements(db), conversations: deps.conversations, open: deps.open };
  return {
    store:
      ((delivery: Delivery, isCurrent: () => boolean = () => true) =>
        deps.write<Stored | NotStored>(
          "the message",
          () => isCurrent() ? storeOne(sql, delivery) : ok({ kind: "overtaken" }),
        )) as Intake["store"],
    // If the disk is full now, a later sweep deletes them.
    sweep: (now) =>
      void writeBatch({ db, ...deps, what: "the message" }, () => sql.forget.run(now)),
  };
}

type Sql = ReturnType<typeof statements> & {
  readonly conversations: ConversationCache;
  readonly open: OpenTurns;
};

function queueFull() {
  return refusal(
    "turn-queue-full",
    `Cannot queue the turn: ${TEAMCHAT_LIMITS.queuedTurnsMax} turns of its agent wait, must be ` +
      "fewer",
  );
}

function storeOne(sql: Sql, delivery: Delivery): Result<Stored> {
  const known = seeAll(sql, delivery);
  if (known !== undefined) return ok({ kind: "duplicate", answer: known.answer });
  const { turn, conversation, edit, withdraw, block } = delivery;
  const context = conversation === undefined ? undefined : JSON.stringify(conversation.context);
  // They differ only for a thread of a channel.
  const isSame = turn?.context.conversation === conversation?.context.conversation;
  if (turn !== undefined && !insertTurn(sql, turn, isSame ? context : undefined)) {
    // Nothing of this delivery is stored, so remove its keys: a repetition must count as new.
    for (const { key } of delivery.keys) sql.unsee.run(key);
    return err(queueFull());
  }
  let isNewConversation = false;
  if (conversation !== undefined && context !== undefined) {
    isNewConversation = rememberConversation(sql, conversation, context);
  }
  if (edit !== undefined) {
    for (const place of sql.open.queued(edit.agent)) {
      sql.edit.run(edit.text, place, edit.conversation, edit.activity);
    }
  }
  if (withdraw !== undefined) {
    for (const place of sql.open.queued(withdraw.agent)) {
      const of = [place, withdraw.conversation, withdraw.activity] as const;
      if (sql.withdraw.run(delivery.now, ...of).changes === 0) continue;
      sql.open.put(withdraw.agent, place, "closed");
    }
  }
  if (delivery.event !== undefined) sql.insertEvent(delivery.event);
  if (block !== undefined) {
    sql.block.run(block.why, block.conversation);
    sql.conversations.forget();
  }
  const { consent, now } = delivery;
  const isConsentTaken = consent !== undefined && conversation !== undefined &&
    sql.consent(consent, {
      owner: conversation.owner,
      conversation: conversation.context.conversation,
      now,
    });
  return ok({ kind: "new", isNewConversation, hasTurn: turn !== undefined, isConsentTaken });
}

/**
 * Stores the keys of a delivery. If one of them is already known, stores none and returns the
 * answer stored with it.
 */
function seeAll(
  sql: Sql,
  { keys, answer, now }: Delivery,
): { readonly answer: string | undefined } | undefined {
  for (const [index, { key, until }] of keys.entries()) {
    if (sql.see.run(key, until, answer ?? null, now).changes === 1) continue;
    for (const fresh of keys.slice(0, index)) sql.unsee.run(fresh.key);
    const known = sql.seen.get(key)?.answer ?? null;
    return { answer: known === null ? undefined : String(known) };
  }
  return undefined;
}

/** Stores the conversation of a delivery. Returns whether it is new. */
function rememberConversation(sql: Sql, latest: Conversation, text: string): boolean {
  if (sql.conversations.has(latest, text)) return false;
  const { owner, agent, context: { conversation, type }, seen } = latest;
  const isNew = sql.known.get(conversation) === undefined;
  sql.remember.run(conversation, owner, agent, type, text, seen);
  sql.conversations.keep(latest, text);
  return isNew;
}

/** Returns false when too many turns wait for the agent. */
function insertTurn(
  sql: Sql,
  turn: NewTurn,
  printed = JSON.stringify(turn.context),
): boolean {
  const { turnId, agent, owner, context, activity, text, created, expires } = turn;
  if (sql.open.queuedCount(agent) >= TEAMCHAT_LIMITS.queuedTurnsMax) return false;
  const { lastInsertRowid: place } = sql.insert.run(
    turnId,
    agent,
    owner,
    context.conversation,
    activity ?? null,
    printed,
    text,
    created,
    expires,
    created,
  );
  sql.open.put(agent, place, "queued");
  (turn.files ?? []).forEach(({ kind, name, url }, at) =>
    sql.wantFile.run(turnId, at + 1, name, kind, url, context.base)
  );
  return true;
}

function statements(db: Database) {
  return {
    seen: db.prepare("select answer from seen where key = ?"),
    // Replaces a key that has expired.
    see: db.prepare(
      "insert into seen (key, until, answer) values (?, ?, ?) on conflict (key) do update set " +
        "until = excluded.until, answer = excluded.answer where until <= ?",
    ),
    unsee: db.prepare("delete from seen where key = ?"),
    forget: db.prepare("delete from seen where until <= ?"),
    insert: db.prepare(
      "insert into turns (turn_id, agent, owner, conversation, activity, site, text, state, " +
        "created, expires, changed) values (?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?)",
    ),
    wantFile: db.prepare(
      "insert into turn_files (turn_id, n, name, kind, url, base, state) values " +
        "(?, ?, ?, ?, ?, ?, 'wanted')",
    ),
    known: db.prepare("select 1 from conversations where conversation = ?"),
    remember: db.prepare(
      "insert into conversations (conversation, owner, agent, type, site, seen) " +
        "values (?, ?, ?, ?, ?, ?) on conflict (conversation) do update set " +
        "owner = excluded.owner, agent = excluded.agent, type = excluded.type, " +
        "site = excluded.site, seen = excluded.seen, blocked = null",
    ),
    edit: db.prepare(
      "update turns set text = ? where place = ? and state = 'queued' and conversation = ? " +
        "and activity = ?",
    ),
    withdraw: db.prepare(
      "update turns set state = 'closed', outcome = 'cancelled', delivery = 'cancelled', " +
        "told = 1, changed = ? where place = ? and state = 'queued' and conversation = ? " +
        "and activity = ?",
    ),
    insertEvent: insertAgentEvent(db),
    consent: takeConsent(db),
    block: db.prepare("update conversations set blocked = ? where conversation = ?"),
  };
}
