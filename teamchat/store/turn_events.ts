/**
 * Agents' events of turns, in the order of their sequence numbers: each changes its turn, and some
 * have an effect on the answer in progress.
 *
 * @module
 */

import {
  type DurableEvent,
  type EVENT_PAYLOADS,
  isEventKind,
  readAgentEvent,
} from "core/dial/event.ts";
import { EVENT_LIMITS } from "core/limits/event.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Database } from "core/ports/databases.ts";
import type { ApprovalRequest } from "teamchat/approval_card.ts";
import { questionText } from "teamchat/question_text.ts";
import type { StoredTurn, TurnRows } from "teamchat/store/turn_rows.ts";
import type { TurnOutcome } from "teamchat/store/turn.ts";
import type { z } from "zod";

/** Effect of a stored event on an answer in progress. */
export type TurnEffect =
  | { readonly kind: "started"; readonly turnId: string }
  | { readonly kind: "message"; readonly turnId: string; readonly messageId: string }
  | { readonly kind: "tool"; readonly turnId: string; readonly tool: string }
  | { readonly kind: "asked"; readonly turnId: string; readonly approval: ApprovalRequest }
  /** A question to the owner; `text` is the message about it. */
  | { readonly kind: "questioned"; readonly turnId: string; readonly text: string }
  | { readonly kind: "ended"; readonly turnId: string };

/** Result of storing a batch of events. */
export interface Appended {
  readonly ackedSeq: number;
  readonly repeated: number;
  /** Events of turns that do not belong to the agent. */
  readonly otherAgents: number;
  readonly hasGap: boolean;
  readonly effects: readonly TurnEffect[];
}

/** Applies agents' events to the rows of turns. */
export class TurnEvents {
  readonly #rows: TurnRows;
  readonly #sql: ReturnType<typeof statements>;

  constructor(db: Database, rows: TurnRows) {
    this.#rows = rows;
    this.#sql = statements(db);
  }

  /** Returns the number up to which the events of an epoch are stored. */
  ackedSeq(agent: string, epoch: string): number {
    return Number(this.#sql.cursor.get(agent, epoch)?.acked_seq ?? 0);
  }

  /**
   * Applies the events with the next sequence numbers; stops at a gap and skips repeated ones. Call
   * it within a transaction that saves the rows.
   */
  append(
    from: { readonly agent: string; readonly epoch: string; readonly now: number },
    events: readonly DurableEvent[],
  ): Appended {
    const { agent, epoch } = from;
    const before = this.#sql.cursor.get(agent, epoch);
    // Limits the epochs of an agent, which may send ever new ones: at the limit, a new one deletes
    // all others. A deleted epoch starts over.
    if (before === undefined) this.#sql.dropCursors.run(agent, agent, EVENT_LIMITS.epochsKept);
    let ackedSeq = Number(before?.acked_seq ?? 0);
    let [repeated, otherAgents, hasGap] = [0, 0, false];
    const effects: TurnEffect[] = [];
    for (const event of events) {
      if (event.seq <= ackedSeq) repeated++;
      else if (event.seq > ackedSeq + 1) {
        hasGap = true;
        break;
      } else {
        ackedSeq = event.seq;
        const effect = take(this.#rows, from, event);
        if (effect === "foreign") otherAgents++;
        else if (effect !== undefined) effects.push(effect);
      }
    }
    this.#sql.setCursor.run(agent, epoch, ackedSeq);
    return { ackedSeq, repeated, otherAgents, hasGap, effects };
  }
}

function take(
  rows: TurnRows,
  from: { readonly agent: string; readonly now: number },
  event: DurableEvent,
): TurnEffect | "foreign" | undefined {
  const { turn_id: turnId } = event;
  if (turnId === undefined) return undefined;
  const turn = rows.get(turnId);
  if (turn === undefined || turn.agent !== from.agent) return "foreign";
  const { kind, payload } = readAgentEvent(event);
  if (!isEventKind(kind)) return undefined;
  switch (kind) {
    case "turn_started":
      if (turn.state !== "queued" && turn.state !== "delivered") return undefined;
      rows.change(turn, { state: "running", changed: from.now });
      return { kind: "started", turnId };
    case "message": {
      const before = turn.answer;
      const text = String(payload.text ?? "");
      const answer = before === "" ? text : `${before}\n\n${text}`;
      if (answer.length > TEAMCHAT_LIMITS.answerLengthMax) return undefined;
      // A change after the end would alter a text that may already be partly delivered.
      if (!isOver(turn)) rows.change(turn, { answer });
      return { kind: "message", turnId, messageId: String(payload.message_id ?? "") };
    }
    case "tool_call":
      return { kind: "tool", turnId, tool: String(payload.tool ?? "") };
    case "approval_asked":
      return { kind: "asked", turnId, approval: parseApproval(payload) };
    case "question_asked": {
      // The payload is validated: for this kind, `readAgentEvent` returns nothing else.
      const asked = payload as z.infer<typeof EVENT_PAYLOADS["question_asked"]>;
      return { kind: "questioned", turnId, text: questionText(asked.question_id, asked) };
    }
    case "turn_ended": {
      if (isOver(turn)) return undefined;
      const outcome = String(payload.outcome ?? "failed") as TurnOutcome;
      const reason = payload.reason === undefined ? undefined : String(payload.reason);
      rows.change(turn, { state: "ended", outcome, reason, changed: from.now });
      return { kind: "ended", turnId };
    }
    default:
      return undefined;
  }
}

function parseApproval(payload: Readonly<Record<string, unknown>>): ApprovalRequest {
  const { mcp } = payload;
  return {
    id: String(payload.approval_id ?? ""),
    digest: String(payload.digest ?? ""),
    mcp: typeof mcp === "string" ? mcp : undefined,
    tool: String(payload.tool ?? ""),
    arguments: payload.arguments as Readonly<Record<string, unknown>> ?? {},
    isDestructive: payload.is_destructive === true,
  };
}

/** Whether the agent's part of a turn has ended. */
export function isOver({ state }: StoredTurn): boolean {
  return state === "ended" || state === "closed";
}

function statements(db: Database) {
  return {
    cursor: db.prepare("select acked_seq from cursors where agent = ? and agent_epoch = ?"),
    dropCursors: db.prepare(
      "delete from cursors where agent = ? and " +
        "(select count(*) from cursors where agent = ?) >= ?",
    ),
    setCursor: db.prepare(
      "insert into cursors (agent, agent_epoch, acked_seq) values (?, ?, ?) " +
        "on conflict (agent, agent_epoch) do update set acked_seq = excluded.acked_seq",
    ),
  };
}
