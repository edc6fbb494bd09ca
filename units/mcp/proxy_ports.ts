/**
 * What a proxy serves, and what it needs of the machine. Types only.
 *
 * @module
 */

import type { ByteStream, Clock, Log } from "core/ports.ts";
import type { GateReader } from "core/risk/gate_file.ts";
import type { Wire } from "core/wire.ts";

/** Whose MCP, which, and where. */
export interface ProxyTarget {
  readonly agent: string;
  readonly mcp: string;
  readonly socket: string;
}

/** What the proxy needs of the machine. */
export interface ProxyPorts {
  readonly client: Wire;
  readonly clock: Clock;
  readonly log: Log;
  readonly gate: GateReader;
  /** The dial unit's local socket, where humans are asked. */
  readonly dialSocket: string;
  connect(path: string): Promise<ByteStream>;
  openServer(path: string): Promise<Wire>;
}
