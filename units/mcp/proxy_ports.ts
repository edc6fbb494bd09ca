/**
 * What a proxy serves, and what it needs of the machine. Types only.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import type { GateReader } from "core/risk/gate_file.ts";
import type { Result } from "core/result.ts";
import type { Wire } from "units/mcp/wire.ts";

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
  /** Says why a server that ended without a word may not start; absent where nothing is checked. */
  checkServer?(): Promise<Result<void>>;
  openServer(path: string): Promise<Wire>;
  /** Told once, when the client has the list of tools: the program really has this MCP. */
  onListed?(): void;
}
