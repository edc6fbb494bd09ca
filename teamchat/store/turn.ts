/**
 * What the database holds about turns and conversations, as values. No I/O.
 *
 * | State of a turn | Means | Leaves by |
 * |---|---|---|
 * | queued | stored, the agent does not have it | accepted by the agent, expiry, a deleted message |
 * | delivered | on the agent's own disk | its start |
 * | running | the runtime has it; chunks may be shown | its end |
 * | ended | the answer is whole and on its way to the platform | the outcome of its delivery |
 * | closed | the outcome is known | a day later |
 *
 * @module
 */

import type { FileRef } from "core/teamchat/file_refs.ts";

/** Where a turn stands. */
export type TurnState = "queued" | "delivered" | "running" | "ended" | "closed";

/** How a turn ended at the agent, or why it never got there. */
export type TurnOutcome = "completed" | "cancelled" | "failed" | "interrupted" | "expired";

/** What became of an answer; told to the agent (docs/protocol.md, frame `delivery`). */
export type DeliveryOutcome =
  | "delivered"
  | "throttled"
  | "ambiguous"
  | "blocked"
  | "too_large"
  | "cancelled"
  | "failed";

/** Where and as whom answers go: what an activity of the owner said, less the text. */
export interface Site {
  /** Checked `serviceUrl` without its final slash; checked again before each use. */
  readonly base: string;
  readonly conversation: string;
  readonly type: "personal" | "groupChat" | "channel";
  readonly bot: { readonly id: string; readonly name?: string };
  readonly user: { readonly id: string; readonly name?: string; readonly aadObjectId?: string };
  readonly tenantId?: string;
  readonly locale?: string;
}

/** A turn about to be stored. */
export interface NewTurn {
  readonly turnId: string;
  readonly agent: string;
  readonly owner: string;
  readonly site: Site;
  /** Id of the owner's message. */
  readonly activity: string | undefined;
  readonly text: string;
  readonly created: number;
  readonly expires: number;
  /** Files that came with it, to be fetched. */
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
  /** What the agent calls a message that it sent by itself; undefined for turns of the owner. */
  readonly sendId: string | undefined;
}

/** From the message `at` on, pieces have at most `length` UTF-16 units. */
export interface Cut {
  readonly at: number;
  readonly length: number;
}

/** How far the delivery of an answer is; survives a kill. */
export interface DeliveryProgress {
  /** Id of the message that was opened as a stream, and when. */
  readonly stream: string | undefined;
  readonly streamAt: number | undefined;
  /** Messages that the platform has for sure. */
  readonly partsSent: number;
  /** Where messages were cut shorter, because the platform found them too large. */
  readonly cuts: readonly Cut[];
  /** Id of a message that holds a line in place of the next text. */
  readonly held: string | undefined;
  /** A message that cannot be repeated safely was on its way. */
  readonly isSending: boolean;
  /** Ids of the messages, in order. */
  readonly ids: readonly string[];
}

/** A conversation as it was last heard from. */
export interface Conversation {
  readonly owner: string;
  readonly agent: string;
  readonly site: Site;
  readonly seen: number;
  /** Why nothing may be sent to it any more. */
  readonly blocked: string | undefined;
}
