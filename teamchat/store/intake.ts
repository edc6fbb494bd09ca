/**
 * Writes what came in, once: the delivery's key, the conversation and the turn are one transaction,
 * and only what is in it is acknowledged. Deliveries that arrive together share one write to the
 * disk; each still gets its own answer.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits.ts";
import { refusal } from "core/errors.ts";
import type { Clock, Database, Log } from "core/ports.ts";
import { err, ok, type Result } from "core/result.ts";
import type { FileConsent } from "core/teamchat/file_consent.ts";
import { writeBatch, type Writer } from "teamchat/store/batch.ts";
import { insertAgentEvent, type NewAgentEvent } from "teamchat/store/owner_events.ts";
import { takeConsent } from "teamchat/store/owner_files.ts";
import type { Conversation, NewTurn } from "teamchat/store/turn.ts";

/** One delivery. */
export interface Delivery {
  /** Keys under which a repetition is recognized, with the times until which they count. */
  readonly keys: readonly { readonly key: string; readonly until: number }[];
  readonly now: number;
  /** The owner's conversation as of this delivery. */
  readonly conversation?: Conversation;
  readonly turn?: NewTurn;
  /** The owner changed the text of a message; a turn the agent has already is left as it is. */
  readonly edit?: {
    readonly conversation: string;
    readonly activity: string;
    readonly text: string;
  };
  /** The owner deleted a message. */
  readonly withdraw?: { readonly conversation: string; readonly activity: string };
  /** The bot was taken out of a conversation. */
  readonly block?: { readonly conversation: string; readonly why: string };
  /** What the owner did with an answer. */
  readonly event?: NewAgentEvent;
  /** What the owner said about a file. */
  readonly consent?: FileConsent;
  /** Usual answer of an invoke, given again to its repetition. */
  readonly answer?: string;
}

/** What was stored. */
export type Stored =
  | {
    readonly kind: "new";
    readonly isNewConversation: boolean;
    readonly hasTurn: boolean;
    /** Whether the owner's word about a file counts: it is asked once, of one owner, for a day. */
    readonly isConsentTaken: boolean;
  }
  | { readonly kind: "duplicate"; readonly answer: string | undefined };

/** Storing deliveries. */
export interface Intake {
  /** Resolves after the write is on the disk; never rejects. */
  store(delivery: Delivery): Promise<Result<Stored>>;
  /** Forgets keys that do not count any more. */
  sweep(now: number): void;
}

/** Opens the intake over prepared tables. */
export function openIntake(
  db: Database,
  parts: { readonly clock: Pick<Clock, "after">; readonly log: Log; readonly write: Writer },
): Intake {
  const sql = statements(db);
  return {
    store: (delivery) => parts.write("the message", () => storeOne(sql, delivery)),
    // What a full disk keeps today goes with a later sweep.
    sweep: (now) =>
      void writeBatch({ db, ...parts, what: "the message" }, () => sql.forget.run(now)),
  };
}

function queueFull() {
  return refusal(
    "turn-queue-full",
    `Cannot queue the turn: ${TEAMCHAT_LIMITS.queuedTurnsMax} turns of its agent wait, must be fewer`,
  );
}

function storeOne(sql: ReturnType<typeof statements>, delivery: Delivery): Result<Stored> {
  for (const { key } of delivery.keys) {
    const known = sql.seen.get(key);
    if (known !== undefined && Number(known.until) > delivery.now) {
      const answer = known.answer === null ? undefined : String(known.answer);
      return ok({ kind: "duplicate", answer });
    }
  }
  const { turn, conversation, edit, withdraw, block } = delivery;
  if (turn !== undefined) {
    const open = Number(sql.open.get(turn.agent)?.n ?? 0);
    // Nothing of this delivery is stored: its repetition must find no trace.
    if (open >= TEAMCHAT_LIMITS.queuedTurnsMax) return err(queueFull());
  }
  for (const { key, until } of delivery.keys) sql.see.run(key, until, delivery.answer ?? null);
  let isNewConversation = false;
  if (conversation !== undefined) {
    isNewConversation = sql.known.get(conversation.site.conversation) === undefined;
    const { owner, agent, site, seen } = conversation;
    sql.remember.run(site.conversation, owner, agent, site.type, JSON.stringify(site), seen);
  }
  if (turn !== undefined) insertTurn(sql, turn);
  if (edit !== undefined) sql.edit.run(edit.text, edit.conversation, edit.activity);
  if (withdraw !== undefined) {
    sql.withdraw.run(delivery.now, withdraw.conversation, withdraw.activity);
  }
  if (delivery.event !== undefined) sql.tell(delivery.event);
  if (block !== undefined) sql.block.run(block.why, block.conversation);
  const { consent, now } = delivery;
  const isConsentTaken = consent !== undefined && conversation !== undefined &&
    sql.consent(consent, {
      ...{ owner: conversation.owner, conversation: conversation.site.conversation, now },
    });
  return ok({ kind: "new", isNewConversation, hasTurn: turn !== undefined, isConsentTaken });
}

function insertTurn(sql: ReturnType<typeof statements>, turn: NewTurn): void {
  const { turnId, agent, owner, site, activity, text, created, expires } = turn;
  sql.insert.run(
    ...[turnId, agent, owner, site.conversation, activity ?? null, JSON.stringify(site), text],
    ...[created, expires, created],
  );
  (turn.files ?? []).forEach(({ kind, name, url }, at) =>
    sql.wantFile.run(turnId, at + 1, name, kind, url, site.base)
  );
}

function statements(db: Database) {
  return {
    seen: db.prepare("select until, answer from seen where key = ?"),
    see: db.prepare("insert or replace into seen (key, until, answer) values (?, ?, ?)"),
    forget: db.prepare("delete from seen where until <= ?"),
    open: db.prepare("select count(*) as n from turns where agent = ? and state = 'queued'"),
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
      "update turns set text = ? where conversation = ? and activity = ? and state = 'queued'",
    ),
    withdraw: db.prepare(
      "update turns set state = 'closed', outcome = 'cancelled', delivery = 'cancelled', told = 1, " +
        "changed = ? where conversation = ? and activity = ? and state = 'queued'",
    ),
    tell: insertAgentEvent(db),
    consent: takeConsent(db),
    block: db.prepare("update conversations set blocked = ? where conversation = ?"),
  };
}
