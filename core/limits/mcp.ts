/**
 * Bounds of the way of an MCP call, each with its unit in its name and its reason beside it.
 *
 * @module
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** MCP path. */
export const MCP_LIMITS = {
  /** One JSON-RPC message on the way through the proxy. */
  messageBytesMax: 16 * MIB,
  /** What the model sees of one tool result; the rest is cut and the cut is stated. */
  modelResultBytesMax: 64 * KIB,
  connectSeconds: 10,
  handshakeSeconds: 30,
  /** A server that stays silent to the probe of the newer revision gets the older handshake. */
  probeMs: 20_000,
  callSeconds: 300,
  /** Connections of one MCP socket at once. */
  connectionsMax: 64,
} as const;
