/**
 * Ports of the transcript: the event log and the turn store. Types only. SQLite implements them
 * (`gateway/transcript/store.ts`).
 *
 * A write that returned is on disk. No method throws for a full disk: it returns a refusal with
 * the code `storage-failed`. The caller must not acknowledge what was not stored.
 *
 * @module
 */

import type { ApprovalStore } from "gateway/approvals/approval_store.ts";
import type { QuestionStore } from "gateway/questions/question_store.ts";
import type { DurableEvent } from "core/dial/event.ts";
import type { Result } from "core/result.ts";
import type { Retention } from "core/store/transcript_retention.ts";

/** A stored event. `seq` counts over the whole gateway and is the second part of its SSE id. */
export interface StoredEvent {
  readonly seq: number;
  readonly agent: string;
  /** Milliseconds since the epoch, by the clock of the event's producer. */
  readonly at: number;
  readonly turnId: string | undefined;
  readonly kind: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Result of storing a batch of an agent's events. */
export interface Appended {
  /** New events in order, including the events that the gateway derived from them. */
  readonly stored: readonly StoredEvent[];
  /** Highest sequence number of the agent's epoch that is stored without a gap. */
  readonly ackedSeq: number;
  /** Events of the batch that were already stored. */
  readonly repeated: number;
  /** Events that named another agent's turn. They do not affect that turn. */
  readonly otherAgents: number;
  /** The batch skipped a sequence number; the events after the gap were not stored. */
  readonly hasGap: boolean;
}

/**
 * Selects the turns of one conversation, by its name or `default`, and no events outside of turns.
 * Undefined selects everything.
 */
export type ConversationFilter = string | undefined;

/** The durable log of everything that happened to every agent. */
export interface EventLog {
  /** Identity of this log. When it changes, ids from before are invalid. */
  readonly epoch: string;
  /** Sequence number of the newest event; 0 for an empty log. */
  head(): Promise<number>;
  /**
   * Stores an agent's events in order. An event that is already stored is acknowledged, not
   * duplicated. Refuses `agent-storage-full` when the agent has used its share.
   */
  appendFromAgent(
    agent: string,
    agentEpoch: string,
    events: readonly DurableEvent[],
  ): Promise<Result<Appended>>;
  /** Whether the agent may store more; if false, `appendFromAgent` refuses. */
  hasRoom(agent: string): Promise<boolean>;
  /** Last stored sequence number of an agent's epoch; 0 for an unknown epoch. */
  ackedSeq(agent: string, agentEpoch: string): Promise<number>;
  /**
   * Events after a sequence number, oldest first. Returns at least one if any exists, whatever its
   * size.
   */
  after(query: {
    readonly agents: readonly string[];
    readonly after: number;
    readonly limit: number;
    /** Limit for the sum of payload bytes; defaults to the limit of a page. */
    readonly bytesMax?: number;
  }): Promise<readonly StoredEvent[]>;
  /** Counts the events of these agents after a sequence number, up to `max`. */
  countAfter(query: {
    readonly agents: readonly string[];
    readonly after: number;
    readonly max: number;
  }): Promise<number>;
  /** One page of a transcript, oldest first, ending below `before`. */
  page(query: {
    readonly agent: string;
    readonly before: number | undefined;
    readonly limit: number;
    readonly conversation?: ConversationFilter;
  }): Promise<{ readonly events: readonly StoredEvent[]; readonly hasMore: boolean }>;
  /**
   * The newest turns of an agent that began below `before`, each with at most its newest `limit`
   * events. Between them are at most `limit` events outside of turns. Without `before`, the running
   * turn is included, wherever it began.
   */
  turnPage(query: {
    readonly agent: string;
    readonly before: number | undefined;
    readonly turns: number;
    readonly limit: number;
    readonly conversation?: ConversationFilter;
  }): Promise<TurnPage>;
  /**
   * The newest `limit` events of one turn, with its question. With `before`, only events below it
   * and no counts. Empty when the agent has no such turn.
   */
  turnPart(query: {
    readonly agent: string;
    readonly turnId: string;
    readonly before: number | undefined;
    readonly limit: number;
  }): Promise<TurnPage>;
}

/** Number of events, and of each kind that is visible to a reader. */
export interface EventCounts {
  readonly events: number;
  /** Tool calls, counted by their results. */
  readonly calls: number;
  readonly messages: number;
  readonly notices: number;
  /** Results of tool calls that failed or were denied. */
  readonly failed: number;
}

/** A turn of which a page contains only the question and the newest events. */
export interface TurnCut {
  readonly turnId: string;
  /** Sequence number of the first event after the omitted ones. */
  readonly before: number;
  /** Counts of the omitted events. */
  readonly counts: EventCounts;
}

/** Events of turns, ascending. A truncated turn has a gap inside it. */
export interface TurnPage {
  readonly events: readonly StoredEvent[];
  readonly cuts: readonly TurnCut[];
  /** Cursor for the older page; undefined when there is none. */
  readonly before: number | undefined;
}

/**
 * State of a turn: waiting at the gateway, sent to a connection, stored at the agent, given to the
 * runtime, ended.
 */
export type TurnState = "queued" | "sent" | "delivered" | "started" | "ended";

/** One turn. */
export interface Turn {
  readonly turnId: string;
  readonly agent: string;
  readonly text: string;
  /** `owner:<email>` or `agent:<name>`. */
  readonly origin: string;
  readonly hops: number;
  readonly state: TurnState;
  readonly isCancelRequested: boolean;
  readonly created: number;
  /** Sequence number of its `turn_queued` event. */
  readonly seq: number;
  /** Absent for the default conversation. */
  readonly conversation?: string;
}

/** A turn to queue. */
export interface NewTurn {
  readonly turnId: string;
  readonly agent: string;
  readonly text: string;
  readonly origin: string;
  readonly hops: number;
  /** Scope of the idempotency key: equal keys of two requesters are unrelated. */
  readonly asker: string;
  readonly idempotencyKey: string;
  readonly at: number;
  /** Absent for the default conversation. */
  readonly conversation?: string | undefined;
}

/** A change of a turn and the events it produced. */
export interface TurnChange {
  readonly turn: Turn;
  readonly stored: readonly StoredEvent[];
}

/** The turn store. Each change and its event are written in one transaction. */
export interface TurnStore {
  /**
   * Stores a turn. The same key with the same agent, text and conversation returns the existing
   * turn; otherwise it refuses `turn-key-reused`. Refuses `turn-queue-full` when too many are open.
   */
  queue(turn: NewTurn): Promise<Result<TurnChange & { readonly isNew: boolean }>>;
  find(turnId: string): Promise<Turn | undefined>;
  /** The oldest turn that the agent has not confirmed as stored. */
  nextFor(agent: string): Promise<Turn | undefined>;
  /**
   * The turn that the agent works on. If there are several, the one with the longest chain of
   * messages.
   */
  runningOf(agent: string): Promise<Turn | undefined>;
  /** Turns that the agent has stored and not ended. */
  openOf(agent: string): Promise<readonly Turn[]>;
  /** Records that the turn was sent to a connection. */
  markSent(turnId: string): Promise<Result<void>>;
  /** Records that the agent has stored the turn. Does nothing when already recorded. */
  markDelivered(agent: string, turnId: string, at: number): Promise<Result<readonly StoredEvent[]>>;
  /** Ends a turn that was never sent; marks one that was sent, so that the agent cancels it. */
  cancel(turnId: string, at: number): Promise<Result<TurnChange>>;
  /** Ends a turn that its agent has lost. */
  giveUp(
    turnId: string,
    at: number,
    why: { readonly code: string; readonly reason: string },
  ): Promise<Result<readonly StoredEvent[]>>;
  /** How many turns are in each state. */
  counts(): Promise<Readonly<Record<TurnState, number>>>;
}

/** A conversation of an agent, other than the default one. */
export interface Conversation {
  /** Its name in frames and requests. */
  readonly conversation: string;
  /** Its name for people. */
  readonly name: string;
  readonly created: number;
  readonly isArchived: boolean;
}

/** The conversations of all agents. A turn that names a new one adds it. */
export interface ConversationStore {
  find(agent: string, conversation: string): Conversation | undefined;
  /** Newest first, below the conversation `before`. */
  list(query: {
    readonly agent: string;
    readonly before: string | undefined;
    readonly limit: number;
    readonly hasArchived: boolean;
  }): { readonly conversations: readonly Conversation[]; readonly hasMore: boolean };
  /** Whether the agent may have one more. */
  hasRoom(agent: string): boolean;
  /** Refuses `conversation-exists` and `conversation-limit`. */
  begin(of: Conversation & { readonly agent: string }): Result<Conversation>;
  /** Refuses `conversation-unknown`. */
  change(
    agent: string,
    conversation: string,
    to: Partial<Pick<Conversation, "name" | "isArchived">>,
  ): Result<Conversation>;
}

/** What the gateway remembers about an agent between its connections. */
export interface AgentMemory {
  readonly agent: string;
  readonly state: string | undefined;
  readonly reason: string | undefined;
  readonly since: number | undefined;
}

/** Storage used by one agent. */
export interface AgentUsage {
  /** Bytes counted against its share; `docs/storage.md` defines what counts. */
  readonly bytes: number;
  readonly bytesMax: number;
  /** Time of its oldest event in milliseconds since the epoch; undefined when it has none. */
  readonly oldest: number | undefined;
}

/** How much of their shares the agents use. */
export interface UsageStore {
  of(agent: string): AgentUsage;
  /** Used part of the fullest agent's share. Exceeds 1 after a batch that began below the limit. */
  fullest(): number;
}

/** A dial key as stored. */
export interface StoredKey {
  readonly agent: string;
  readonly key: string;
}

/** First dial keys enrolled here that may not be in the ledger yet; one for each agent. */
export interface KeyStore {
  keyOf(agent: string): Promise<string | undefined>;
  all(): Promise<readonly StoredKey[]>;
  /** Stores an agent's first key. Returns false when the agent already has a different one here. */
  addFirst(of: StoredKey, at: number): Promise<Result<boolean>>;
  drop(of: StoredKey): Promise<Result<void>>;
}

/** The whole store of the gateway. */
export interface GatewayStore {
  readonly events: EventLog;
  readonly turns: TurnStore;
  readonly keys: KeyStore;
  readonly approvals: ApprovalStore;
  readonly questions: QuestionStore;
  readonly usage: UsageStore;
  readonly conversations: ConversationStore;
  readonly retention: Retention;
  /** The last state that each agent reported, or each of `only`. */
  memories(only?: readonly string[]): Promise<readonly AgentMemory[]>;
  close(): void;
}
