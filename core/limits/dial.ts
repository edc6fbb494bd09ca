/**
 * Limits of the connections between dial units and gateways. Each name has its unit, and each
 * comment its reason.
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
  /** The gateway pings at this interval and ends a connection that missed two pongs. */
  heartbeatSeconds: 15,
  /**
   * How often a gateway checks the files that it follows, and the enrolled keys while an agent is
   * connected. A revoked key ends its session well within a second.
   */
  keyFilePollMs: 250,
  /**
   * A key file that changed within this time is read at every check. After it, even coarse file
   * timestamps (two seconds) distinguish one change from the next.
   */
  keyFileSettledMs: 3_000,
  /** First wait before keys are sent to the ledger again; it doubles. */
  keyForwardFirstMs: 1_000,
  /** Longest wait while the daemon's socket does not answer. */
  keyForwardUnreachableMsMax: 15_000,
  /** Longest wait after the daemon refused; each refusal costs it a process and an audit row. */
  keyForwardRefusedMsMax: 600_000,
  /** A dial unit that receives nothing for this long gives the connection up. */
  silenceSecondsMax: 45,
  /**
   * Bytes that may wait in a socket before the sender drops previews or closes the connection
   * (events).
   */
  socketBufferBytesMax: MIB,
  /** Unacknowledged durable events in flight; more wait in the outbox. */
  unacknowledgedEventsMax: 256,
  /** Frames of one connection that wait to be stored; a peer with more exceeds the limit. */
  unstoredEventsMax: 1024,
  /** The same in bytes. */
  unstoredBytesMax: 16 * MIB,
  /**
   * Unregistered connections of all peers together. At this number, the oldest one of the address
   * with the most is evicted.
   */
  unregisteredConnectionsMax: 256,
  /**
   * The same per address (IPv6: per /64). A host whose agents all reconnect at once fits; four such
   * hosts fit together.
   */
  unregisteredPerAddressMax: 64,
  /** The same for loopback, where a whole fleet may run; a quarter remains for other hosts. */
  unregisteredLoopbackMax: 192,
  /** A gateway that shuts down spreads the reconnects of its agents over this time. */
  returnSpreadMs: 5_000,
  /**
   * Time limit of a host's job; `apply` may vendor packages. After it, the verb continues at its
   * daemon.
   */
  jobSeconds: 600,
  /** Pending jobs of one host. */
  jobsPerHostMax: 8,
  /** Ended jobs that the page can still show, per host; and job outputs that are kept, in total. */
  jobsKeptPerHost: 8,
  jobReportsKept: 32,
  /** Characters of a job's output. Quoted in its frame, it stays below the frame's size. */
  jobOutputLengthMax: 256 * KIB,
  /** Characters of a progress line of a job. */
  jobProgressLengthMax: 200,
  /** Size of the outbox on disk. If it is full, reading from the runtime pauses until it drains. */
  outboxBytesMax: 64 * MIB,
} as const;
