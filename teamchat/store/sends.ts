/**
 * Messages that agents send to their owners without a turn. Each is stored as an ended turn
 * without a message of the owner, with its text as the answer. So it is delivered like any answer:
 * its text appears at most once, even after a kill.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Database } from "core/ports/databases.ts";
import type { Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";
import type { ReplyContext } from "teamchat/store/turn.ts";

/** A message to store. */
export interface NewSend {
  readonly turnId: string;
  readonly agent: string;
  /** The agent's id for it; a repeated id is not sent again. */
  readonly sendId: string;
  readonly owner: string;
  readonly context: ReplyContext;
  readonly text: string;
  readonly created: number;
}

/** State of a message when it arrived. */
export type SendState = "new" | "under-way" | "closed" | "full";

/** Stores such messages. */
export interface SendStore {
  add(send: NewSend): Result<SendState>;
  /** Call when the agent queries the outcome again. */
  markUnreported(agent: string, sendId: string): Result<void>;
}

/** Opens the store over prepared tables. */
export function openSends(db: Database): SendStore {
  const known = db.prepare("select state from turns where agent = ? and send_id = ?");
  const open = db.prepare(
    "select count(*) as n from turns where agent = ? and send_id is not null and state = 'ended'",
  );
  const insert = db.prepare(
    "insert into turns (turn_id, agent, owner, conversation, site, text, state, created, " +
      "expires, " +
      "changed, answer, outcome, send_id) values (?, ?, ?, ?, ?, '', 'ended', ?, ?, ?, ?, " +
      "'completed', ?)",
  );
  const unreport = db.prepare("update turns set told = 0 where agent = ? and send_id = ?");
  return {
    add: ({ turnId, agent, sendId, owner, context, text, created }) =>
      writeSql(db, "the message", (): SendState => {
        const state = known.get(agent, sendId)?.state;
        if (state !== undefined) return state === "closed" ? "closed" : "under-way";
        if (Number(open.get(agent)?.n ?? 0) >= TEAMCHAT_LIMITS.sendsWaitingMax) return "full";
        insert.run(
          turnId,
          agent,
          owner,
          context.conversation,
          JSON.stringify(context),
          created,
          created,
          created,
          text,
          sendId,
        );
        return "new";
      }),
    markUnreported: (agent, sendId) =>
      writeSql(db, "the message", () => {
        unreport.run(agent, sendId);
      }),
  };
}
