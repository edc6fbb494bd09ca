/**
 * Bounds of the connections between dial units and gateways, each with its unit in its name
 * and its reason beside it.
 *
 * @module
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Frames between dial unit and gateway (docs/protocol.md). */
export const DIAL_LIMITS = {
  /** The register frame must arrive within this time. */
  registerSeconds: 5,
  /** Size of a frame before registration. */
  unregisteredFrameBytesMax: 64 * KIB,
  /** Size of a frame after registration; one durable event fits with room for its envelope. */
  frameBytesMax: MIB,
  /** The gateway pings at this pace and ends a connection that missed two pongs. */
  heartbeatSeconds: 15,
  /**
   * The gateway looks this often whether the enrolled keys have changed, while anybody is
   * connected: a revoked key ends its session well within a second.
   */
  keyFileLookMs: 250,
  /**
   * A list of keys that was changed within this time is read at each look: by then, times of the
   * coarsest file systems (two seconds) tell one change from the next.
   */
  keyFileSettledMs: 3_000,
  /** Keys that wait for the ledger are sent again after this long, doubling. */
  keyForwardFirstMs: 1_000,
  /** Longest wait while nobody answers on the daemon's socket. */
  keyForwardAwayMsMax: 15_000,
  /** Longest wait after the daemon refused, which each time costs it a program and an audit row. */
  keyForwardRefusedMsMax: 600_000,
  /** A dial unit that heard nothing for this long gives the connection up. */
  silenceSecondsMax: 45,
  /** Bytes that may wait in a socket before the sender stops (previews) or closes it (events). */
  socketBufferBytesMax: MIB,
  /** Unacknowledged durable events in flight; more wait in the outbox. */
  unacknowledgedEventsMax: 256,
  /**
   * Frames of one connection that wait to be stored; more means that the peer ignores the window.
   */
  unstoredEventsMax: 1024,
  /** The same in bytes. */
  unstoredBytesMax: 16 * MIB,
  /**
   * Connections that have not registered yet, all peers together. When they are that many, the
   * oldest of the address that holds most makes room.
   */
  unregisteredConnectionsMax: 256,
  /**
   * The same of one address (IPv6: one /64): a host whose agents all come back at once fits, four
   * such hosts fit together.
   */
  unregisteredPerAddressMax: 64,
  /** The same of loopback, where a whole fleet may live; a quarter stays for other hosts. */
  unregisteredLoopbackMax: 192,
  /** A gateway that closes on purpose spreads the return of its agents over this time. */
  returnSpreadMs: 5_000,
  /**
   * A job of a host takes no longer; `apply` may vendor packages. The verb goes on at its daemon.
   */
  jobSeconds: 600,
  /** Jobs that wait for one host at once. */
  jobsPerHostMax: 8,
  /** Ended jobs of one host that the page can still show, and documents that are kept of all. */
  jobsKeptPerHost: 8,
  jobReportsKept: 32,
  /**
   * Characters of what the verb of a job printed; quoted in its frame it stays below the
   * frame's size.
   */
  jobOutputLengthMax: 256 * KIB,
  /** A line about where a job stands. */
  jobProgressLengthMax: 200,
  /** The outbox on disk; when it is full the runtime is not read from until it drains. */
  outboxBytesMax: 64 * MIB,
} as const;
