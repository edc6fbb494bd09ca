/**
 * The gateway's copy of the agents' questions to a person, and the answers given here. The dial
 * unit is the authority: its events overwrite this copy. An answer is on disk before it is
 * acknowledged, and is sent again until the agent has confirmed its outcome.
 *
 * @module
 */

import type { EVENT_PAYLOADS } from "core/dial/event.ts";
import { QUESTION_LIMITS } from "core/limits/question.ts";
import type { Database, SqlValue } from "core/ports/databases.ts";
import {
  answerQuestion,
  type Question,
  type QuestionAnswer,
  type QuestionState,
  unknownQuestion,
} from "core/questions/question.ts";
import { err, ok, type Result } from "core/result.ts";
import { writeSql } from "core/store/sql_write.ts";
import type { ApplyToApproval } from "gateway/approvals/approval_store.ts";
import type { z } from "zod";

/** Tables of the question store. */
export const QUESTION_TABLES = `
create table if not exists questions (
  place integer primary key autoincrement,
  question_id text not null unique,
  agent text not null,
  turn_id text,
  at integer not null,
  expires integer not null,
  state text not null,
  form text not null,
  answer text,
  is_confirmed integer not null default 0
) strict;
create index if not exists questions_open on questions (agent, place)
  where state in ('asked', 'answered');
`;

/** A question as the gateway knows it. */
export interface StoredQuestion extends Question {
  /** Whether the agent has confirmed this answer. */
  readonly isConfirmed: boolean;
}

/** An answer given at this gateway; its values are not checked yet. */
export interface GatewayAnswer extends Omit<QuestionAnswer, "values"> {
  readonly agent: string;
  readonly id: string;
  readonly values?: unknown;
}

/** The question store. */
export interface QuestionStore {
  /** Questions that are unanswered, or answered and not ended; oldest first. */
  openOf(agent: string, now: number): Promise<readonly StoredQuestion[]>;
  /**
   * Records the first answer. Refuses a question that is not open or is another agent's, and an
   * answer that does not fit.
   */
  answer(given: GatewayAnswer): Promise<Result<StoredQuestion>>;
  /** Answers given here that the agent has not confirmed. */
  unconfirmedOf(agent: string): Promise<readonly StoredQuestion[]>;
}

/** Applies an agent's event to its question. Call it only inside the transaction that stores it. */
export type ApplyToQuestion = ApplyToApproval;

/** Opens the question store of a prepared database, and its hook for agents' events. */
export function openQuestionStore(
  db: Database,
): { readonly store: QuestionStore; readonly applyToQuestion: ApplyToQuestion } {
  const sql = statements(db);
  const find = (id: string) => readRow(sql.find.get(id));
  return {
    applyToQuestion: (agent, event) => applyEvent(sql, agent, event),
    store: {
      openOf: async (agent, now) =>
        sql.open.all(agent, Math.trunc(now)).flatMap((row) => readRow(row) ?? []),
      unconfirmedOf: async (agent) =>
        sql.unconfirmed.all(agent).flatMap((row) => readRow(row) ?? []),
      answer: async ({ agent, id, ...given }) => {
        const question = find(id);
        // Another agent's question is reported as not found: only its owner may know of it.
        if (question?.agent !== agent) return err(unknownQuestion(id));
        const answered = answerQuestion(question, given);
        if (!answered.ok) return answered;
        const answer = JSON.stringify(answered.value.answer);
        const written = writeSql(db, "the answer", () => {
          sql.answer.run(answer, id);
        });
        return written.ok ? ok({ ...answered.value, isConfirmed: false }) : written;
      },
    },
  };
}

function statements(db: Database) {
  return {
    find: db.prepare("select * from questions where question_id = ?"),
    open: db.prepare(
      "select * from questions where agent = ? and state in ('asked', 'answered') " +
        "and (state = 'answered' or expires > ?) order by place",
    ),
    unconfirmed: db.prepare(
      "select * from questions where agent = ? and state = 'answered' and is_confirmed = 0 " +
        "order by place",
    ),
    ask: db.prepare(
      "insert or ignore into questions (question_id, agent, turn_id, at, expires, state, form) " +
        "values (?, ?, ?, ?, ?, 'asked', ?)",
    ),
    answer: db.prepare(
      "update questions set state = 'answered', answer = ? where question_id = ? " +
        "and state = 'asked'",
    ),
    confirm: db.prepare(
      "update questions set state = 'answered', answer = ?, is_confirmed = 1 " +
        "where question_id = ? and agent = ? and state in ('asked', 'answered')",
    ),
    end: db.prepare(
      "update questions set state = ? where question_id = ? and agent = ? " +
        "and state in ('asked', 'answered')",
    ),
    forget: db.prepare(
      "delete from questions where state not in ('asked', 'answered') and agent = ? and place <= " +
        "(select max(place) from questions) - ?",
    ),
  };
}

type Payloads = typeof EVENT_PAYLOADS;

function applyEvent(
  sql: ReturnType<typeof statements>,
  ...[agent, { kind, payload, turnId, at }]: Parameters<ApplyToQuestion>
): void {
  // The payload is validated: for these kinds, `readAgentEvent` returns nothing else.
  if (kind === "question_asked") {
    const asked = payload as z.infer<Payloads["question_asked"]>;
    const { question_id: id, expires, ...form } = asked;
    const when = [Math.round(at), Math.round(expires)] as const;
    sql.ask.run(id, agent, turnId ?? null, ...when, JSON.stringify(form));
  } else if (kind === "question_answered") {
    const { question_id: id, ...answer } = payload as z.infer<Payloads["question_answered"]>;
    sql.confirm.run(JSON.stringify({ ...answer, at }), id, agent);
  } else if (kind === "question_ended") {
    const { question_id: id, state } = payload as z.infer<Payloads["question_ended"]>;
    sql.end.run(state, id, agent);
    sql.forget.run(agent, QUESTION_LIMITS.endedKept);
  }
}

function readRow(
  row: Readonly<Record<string, SqlValue>> | undefined,
): StoredQuestion | undefined {
  if (row === undefined) return undefined;
  const { turn_id: turnId, answer } = row;
  return {
    id: String(row.question_id),
    agent: String(row.agent),
    turnId: turnId === null ? undefined : String(turnId),
    askedAt: Number(row.at),
    expiresAt: Number(row.expires),
    form: JSON.parse(String(row.form)) as Question["form"],
    state: String(row.state) as QuestionState,
    answer: answer === null ? undefined : JSON.parse(String(answer)) as QuestionAnswer,
    isConfirmed: Number(row.is_confirmed) === 1,
  };
}
