/**
 * The target and the dependencies of a proxy. Types only.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import type { GateReader } from "core/risk/gate_file.ts";
import type { Result } from "core/result.ts";
import type { Wire } from "units/mcp/wire.ts";

/** The agent, the MCP, and its socket. */
export interface ProxyTarget {
  readonly agent: string;
  readonly mcp: string;
  readonly socket: string;
}

/** Dependencies of the proxy. */
export interface ProxyPorts {
  readonly client: Wire;
  readonly clock: Clock;
  readonly log: Log;
  readonly gate: GateReader;
  /** The dial unit's local socket, through which approvals are requested. */
  readonly dialSocket: string;
  connect(path: string): Promise<ByteStream>;
  /** Returns why a server that ended without output may not start; absent where no check exists. */
  checkServer?(): Promise<Result<void>>;
  openServer(path: string): Promise<Wire>;
  /** Called once, when the client has received the list of tools: the MCP works for the program. */
  onListed?(): void;
}
