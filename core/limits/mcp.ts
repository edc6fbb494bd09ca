/**
 * Limits of an MCP call and its path. Each name has its unit, and each comment its reason.
 *
 * @module
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** The path of an MCP call. */
export const MCP_LIMITS = {
  /** One JSON-RPC message that passes the proxy. */
  messageBytesMax: 16 * MIB,
  /** Part of a tool result that the model sees; the rest is cut and the cut is stated. */
  modelResultBytesMax: 64 * KIB,
  connectSeconds: 10,
  handshakeSeconds: 30,
  /**
   * A server that does not answer the newer revision's probe in this time gets the older handshake.
   */
  probeMs: 20_000,
  callSeconds: 300,
  /** Concurrent connections of one MCP socket. */
  connectionsMax: 64,
} as const;
