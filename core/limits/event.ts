/**
 * Limits on what a gateway stores of one agent: the rate and the total. Each name has its unit, and
 * each comment its reason. The limits of the connection are in `core/limits/dial.ts`.
 *
 * @module
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Durable events of one agent, at either gateway. */
export const EVENT_LIMITS = {
  /**
   * Sustained rate of an agent's events; above it the agent is read more slowly. An agent produces
   * a few per second, because streamed text of a model is not stored.
   */
  perSecond: 1_000,
  /** Burst above that rate: a full outbox of small events after an outage. */
  burst: 128 * KIB,
  /** The same in bytes of payload; the burst is two full outboxes. */
  bytesPerSecond: 2 * MIB,
  bytesBurst: 128 * MIB,
  /** An agent above its rate is logged at most once in this time. */
  logIntervalMs: 60_000,
  /**
   * MiB that the webview gateway keeps of one agent (`WEBVIEW_AGENT_STORAGE_MIB`): years of
   * full-time work, yet small for a server's disk.
   */
  agentMibDefault: 4 * KIB,
  agentMibMin: 64,
  agentMibMax: KIB * KIB,
  /** Days that an event is kept (`WEBVIEW_EVENTS_DAYS`), unless it is kept for ever. */
  daysMin: 1,
  daysMax: 36_500,
  /**
   * `status` warns from this share of the storage on; the rest lasts for days of full-time work.
   */
  storageWarnShare: 0.8,
  /** Outbox epochs per agent that the team-chat gateway remembers; one epoch lasts for years. */
  epochsKept: 256,
  /** Bytes of an event's row besides its payload, index entries included. */
  rowBytes: 256,
} as const;
