/**
 * Ports of the transcript: the event log and the book of turns. Types only.
 * SQLite implements them (`gateway/transcript/store.ts`); a distributed log may later.
 *
 * An answered write is on disk. Nothing here throws for a full disk: it is a refusal with the code
 * `storage-failed`, and whoever asked must not acknowledge what was not stored.
 *
 * @module
 */

import type { ApprovalBook } from "gateway/approvals/book.ts";
import type { DurableEvent } from "core/dial/event.ts";
import type { Result } from "core/result.ts";
import type { Retention } from "core/store/transcript_retention.ts";

/** A stored event. `seq` counts over the whole gateway and is the second half of its SSE id. */
export interface StoredEvent {
  readonly seq: number;
  readonly agent: string;
  /** Milliseconds since the epoch, by the clock of whoever made the event. */
  readonly at: number;
  readonly turnId: string | undefined;
  readonly kind: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** What became of a batch of an agent's events. */
export interface Appended {
  /** Events that were new, the gateway's own that follow from them included, in order. */
  readonly stored: readonly StoredEvent[];
  /** Last number of the agent's epoch that is stored without a gap. */
  readonly ackedSeq: number;
  /** Events of the batch that were there before. */
  readonly repeated: number;
  /** Events that named a turn of another agent, whose turn they say nothing about. */
  readonly foreign: number;
  /** The batch went on after a missing number; the rest of it was left out. */
  readonly hasGap: boolean;
}

/** The durable log of everything that happened to every agent. */
export interface EventLog {
  /** Identity of this log; a new one means that old ids mean nothing. */
  readonly epoch: string;
  /** Number of the newest event; 0 for an empty log. */
  head(): Promise<number>;
  /**
   * Stores an agent's events in order; one that is there already is acknowledged, never doubled.
   * Refuses `agent-storage-full` when the agent has its share.
   */
  appendFromAgent(
    agent: string,
    agentEpoch: string,
    events: readonly DurableEvent[],
  ): Promise<Result<Appended>>;
  /** Whether the agent may store more; without it, `appendFromAgent` refuses. */
  hasRoom(agent: string): Promise<boolean>;
  /** Last stored number of an agent's epoch; 0 for an unknown one. */
  ackedSeq(agent: string, agentEpoch: string): Promise<number>;
  /** Events after a number, oldest first; at least one if there is one, whatever its size. */
  after(query: {
    readonly agents: readonly string[];
    readonly after: number;
    readonly limit: number;
    /** Bytes of payload together; those of a page when absent. */
    readonly bytesMax?: number;
  }): Promise<readonly StoredEvent[]>;
  /** How many events of these agents lie after a number; counts no further than `max`. */
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
  }): Promise<{ readonly events: readonly StoredEvent[]; readonly hasMore: boolean }>;
  /**
   * The newest turns of an agent that began below `before`, each with at most its newest `limit`
   * events, and at most `limit` events outside of turns between them. Without `before` the turn
   * that runs is there as well, wherever it began.
   */
  turnPage(query: {
    readonly agent: string;
    readonly before: number | undefined;
    readonly turns: number;
    readonly limit: number;
  }): Promise<TurnPage>;
  /**
   * The newest `limit` events of one turn, with its question; below `before` only those events,
   * and no counts. Empty for a turn that the agent does not have.
   */
  turnPart(query: {
    readonly agent: string;
    readonly turnId: string;
    readonly before: number | undefined;
    readonly limit: number;
  }): Promise<TurnPage>;
}

/** How many events there are, and how many of each kind that a reader sees. */
export interface EventCounts {
  readonly events: number;
  /** Calls of tools, by their results. */
  readonly calls: number;
  readonly messages: number;
  readonly notices: number;
  /** Results of calls that failed or were denied. */
  readonly failed: number;
}

/** A turn of which only the question and the newest events are on a page. */
export interface TurnCut {
  readonly turnId: string;
  /** Number of the first event after what is left out. */
  readonly before: number;
  /** What is left out. */
  readonly counts: EventCounts;
}

/** Events of turns, ascending, with gaps inside of the turns that are cut. */
export interface TurnPage {
  readonly events: readonly StoredEvent[];
  readonly cuts: readonly TurnCut[];
  /** Where the older page goes on; undefined when there is none. */
  readonly before: number | undefined;
}

/**
 * State of a turn: waiting here, handed to a connection, stored at the agent, given to the runtime,
 * over.
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
  /** Number of its `turn_queued` event. */
  readonly seq: number;
}

/** A turn as it is asked for. */
export interface NewTurn {
  readonly turnId: string;
  readonly agent: string;
  readonly text: string;
  readonly origin: string;
  readonly hops: number;
  /** Whose keys these are: the same key of two askers has nothing in common. */
  readonly asker: string;
  readonly idempotencyKey: string;
  readonly at: number;
}

/** A change of a turn and the events it made. */
export interface TurnChange {
  readonly turn: Turn;
  readonly stored: readonly StoredEvent[];
}

/** The book of turns. Every change and its event are one transaction. */
export interface TurnBook {
  /**
   * Stores a turn. The same key with the same agent and text answers the turn that is there;
   * refuses `turn-key-reused` for another text and `turn-queue-full` when too many wait.
   */
  queue(turn: NewTurn): Promise<Result<TurnChange & { readonly isNew: boolean }>>;
  find(turnId: string): Promise<Turn | undefined>;
  /** The oldest turn that the agent has not stored. */
  nextFor(agent: string): Promise<Turn | undefined>;
  /** The turn that the agent works on; of several, the one that most messages led to. */
  runningOf(agent: string): Promise<Turn | undefined>;
  /** Turns that the agent stored and has not ended. */
  openOf(agent: string): Promise<readonly Turn[]>;
  /** Notes that the turn was handed to a connection. */
  markSent(turnId: string): Promise<Result<void>>;
  /** Notes that the agent has stored the turn; nothing when it was noted before. */
  markDelivered(agent: string, turnId: string, at: number): Promise<Result<readonly StoredEvent[]>>;
  /** Ends a turn that the agent does not hold, or marks one that it holds for cancelling. */
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

/** What the gateway remembers of an agent between its connections. */
export interface AgentMemory {
  readonly agent: string;
  readonly state: string | undefined;
  readonly reason: string | undefined;
  readonly since: number | undefined;
}

/** What is kept of one agent. */
export interface AgentUsage {
  /** Bytes of its share; what counts is in `docs/storage.md`. */
  readonly bytes: number;
  readonly bytesMax: number;
  /** Milliseconds since the epoch of its oldest event; undefined for an agent without any. */
  readonly oldest: number | undefined;
}

/** How full the shares of the agents are. */
export interface UsageBook {
  of(agent: string): AgentUsage;
  /** Part of its share that the fullest agent has; above 1 after a batch that began below it. */
  fullest(): number;
}

/** A dial key as the book holds it. */
export interface BookedKey {
  readonly agent: string;
  readonly key: string;
}

/** First dial keys that were enrolled here and may not be in the ledger yet; one for each agent. */
export interface KeyBook {
  keyOf(agent: string): Promise<string | undefined>;
  all(): Promise<readonly BookedKey[]>;
  /** Stores the key of an agent that has none here; false when it has another one. */
  addFirst(of: BookedKey, at: number): Promise<Result<boolean>>;
  drop(of: BookedKey): Promise<Result<void>>;
}

/** The whole store of the gateway. */
export interface GatewayStore {
  readonly events: EventLog;
  readonly turns: TurnBook;
  readonly keys: KeyBook;
  readonly approvals: ApprovalBook;
  readonly usage: UsageBook;
  readonly retention: Retention;
  /** The last state that each agent told. */
  memories(): Promise<readonly AgentMemory[]>;
  close(): void;
}
