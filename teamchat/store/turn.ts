/**
 * Values of turns and conversations in the database. No I/O.
 *
 * | State of a turn | Meaning | Leaves by |
 * |---|---|---|
 * | queued | stored, the agent does not have it | accepted by the agent, expiry, a deleted message |
 * | delivered | on the agent's own disk | its start |
 * | running | the runtime has it; chunks may be shown | its end |
 * | ended | the answer is complete and being delivered to the platform | the outcome of its delivery |
 * | closed | the outcome is known | deletion a day later |
 *
 * @module
 */

import type { FileRef } from "core/teamchat/file_refs.ts";

/** State of a turn. */
export type TurnState = "queued" | "delivered" | "running" | "ended" | "closed";

/** How a turn ended at the agent, or why the agent never got it. */
export type TurnOutcome = "completed" | "cancelled" | "failed" | "interrupted" | "expired";

/** Outcome of an answer, reported to the agent (docs/protocol.md, frame `delivery`). */
export type DeliveryOutcome =
  | "delivered"
  | "throttled"
  | "ambiguous"
  | "blocked"
  | "too_large"
  | "cancelled"
  | "failed";

/** Where answers are sent, and with which identity: an activity of the owner without its text. */
export interface ReplyContext {
  /** Checked `serviceUrl` without its final slash; checked again before each use. */
  readonly base: string;
  readonly conversation: string;
  readonly type: "personal" | "groupChat" | "channel";
  readonly bot: { readonly id: string; readonly name?: string };
  readonly user: { readonly id: string; readonly name?: string; readonly aadObjectId?: string };
  readonly tenantId?: string;
  readonly locale?: string;
}

/** A turn to store. */
export interface NewTurn {
  readonly turnId: string;
  readonly agent: string;
  readonly owner: string;
  readonly context: ReplyContext;
  /** Id of the owner's message. */
  readonly activity: string | undefined;
  readonly text: string;
  readonly created: number;
  readonly expires: number;
  /** Files of the message, to be downloaded. */
  readonly files?: readonly FileRef[];
}

/** A stored turn. */
export interface Turn extends NewTurn {
  readonly state: TurnState;
  readonly isCancelRequested: boolean;
  readonly answer: string;
  readonly outcome: TurnOutcome | undefined;
  readonly reason: string | undefined;
  readonly progress: DeliveryProgress;
  /** The agent's id for a message that it sent without a turn; undefined for turns of the owner. */
  readonly sendId: string | undefined;
}

/** From the message `at` on, pieces have at most `length` UTF-16 units. */
export interface Cut {
  readonly at: number;
  readonly length: number;
}

/** Progress of an answer's delivery; survives a kill. */
export interface DeliveryProgress {
  /** Id of the message that was opened as a stream, and when. */
  readonly stream: string | undefined;
  readonly streamAt: number | undefined;
  /** Messages that are not sent again: the platform accepted them, or may have. */
  readonly partsSent: number;
  /** Where messages are shorter, because the platform found them too large. */
  readonly cuts: readonly Cut[];
  /** Id of a placeholder message for the next text. */
  readonly held: string | undefined;
  /** Whether a message that cannot be repeated safely was being sent. */
  readonly isSending: boolean;
  /** Ids of the messages, in order. */
  readonly ids: readonly string[];
}

/** A conversation at the time of its last activity. */
export interface Conversation {
  readonly owner: string;
  readonly agent: string;
  readonly context: ReplyContext;
  readonly seen: number;
  /** Why nothing more may be sent to it. */
  readonly blocked: string | undefined;
}
