/**
 * Bounds on what one agent may have a gateway store, each with its unit in its name and its reason
 * beside it: how fast, and how much in all. Those of the connection itself are in
 * `core/limits/dial.ts`.
 *
 * @module
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Durable events of one agent, at either gateway. */
export const EVENT_LIMITS = {
  /**
   * Events that one agent may send for ever; above that it is read more slowly. An agent makes a
   * few in a second: what a model says while it speaks is not stored.
   */
  perSecond: 1_000,
  /** What comes at once beyond that: a full outbox after an outage, in small events. */
  burst: 128 * KIB,
  /** The same in bytes of payload; the burst is two full outboxes. */
  bytesPerSecond: 2 * MIB,
  bytesBurst: 128 * MIB,
  /** An agent that is over its pace is written about once in this time. */
  newsMs: 60_000,
  /**
   * Bytes that the webview gateway keeps of one agent (`WEBVIEW_AGENT_STORAGE_MIB`): years of one
   * that works all day, and no disk of a server.
   */
  agentMibDefault: 4 * KIB,
  agentMibMin: 64,
  agentMibMax: KIB * KIB,
  /** Days that an event may be kept (`WEBVIEW_EVENTS_DAYS`), where it is not for ever. */
  daysMin: 1,
  daysMax: 36_500,
  /** From this part of it on `status` says so: room for days of one that works all day. */
  agentPartToTell: 0.8,
  /** Epochs of one agent whose numbers the team-chat gateway knows; an outbox has one for years. */
  epochsKept: 256,
  /** What the row of an event costs besides its payload, its places in indexes included. */
  rowBytes: 256,
} as const;
