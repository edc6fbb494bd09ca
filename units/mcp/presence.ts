/**
 * Reports to the agent's dial unit that the program has an MCP, by one connection to the unit's
 * local socket while the proxy runs. Where no dial unit listens, it reports nothing.
 *
 * @module
 */

import { connectLocal } from "core/dial/local_connection.ts";
import { errorText } from "core/errors.ts";
import type { Log } from "core/ports/log.ts";
import type { ByteStream } from "core/ports/sockets.ts";

/** The presence of one proxy. */
export interface Presence {
  /** Reports the presence once; a second call does nothing. */
  listed(): void;
  /** Ends the presence. */
  close(): Promise<void>;
}

/** Longest answer of the dial unit. */
const LINE_BYTES_MAX = 64 * 1024;

/** Creates the presence of the proxy of `mcp`. */
export function createPresence(deps: {
  readonly mcp: string;
  readonly socket: string;
  readonly log: Log;
  connect(path: string): Promise<ByteStream>;
}): Presence {
  const { mcp, socket, log } = deps;
  let opened: Promise<() => void> | undefined;

  async function open(): Promise<() => void> {
    const line = await connectLocal(socket, deps.connect, LINE_BYTES_MAX);
    if (!line.ok) {
      log.debug("presence_not_reported", { why: line.error });
      return () => {};
    }
    const { send, close } = line.value;
    await send({ type: "mcp_listed", mcp }).catch((thrown) => {
      log.debug("presence_not_reported", { why: errorText(thrown) });
    });
    return close;
  }

  return {
    listed() {
      opened ??= open();
    },
    async close() {
      (await opened)?.();
    },
  };
}
