/**
 * A program in the hands of a test that speaks lines of JSON: reads what its client writes, message
 * by message, and says what the test wants.
 *
 * @module
 */

import { readLines } from "core/text/lines.ts";
import type { FakeCall } from "tests/fakes/processes.ts";

// deno-lint-ignore no-explicit-any -- a test looks into messages of several protocols.
export type PeerMessage = any;

/** One end of the pipe. */
export interface JsonPeer {
  /** All that the client has written. */
  readonly seen: readonly PeerMessage[];
  say(...messages: readonly unknown[]): Promise<void>;
  /** Resolves when the client's input has ended; `handle` gets each message in turn. */
  serve(handle: (message: PeerMessage) => Promise<void> | void): Promise<void>;
}

/** Makes a peer of a fake program. */
export function jsonPeer(call: FakeCall): JsonPeer {
  const seen: PeerMessage[] = [];
  return {
    seen,
    async say(...messages) {
      for (const message of messages) await call.print(`${JSON.stringify(message)}\n`);
    },
    async serve(handle) {
      for await (const line of readLines(call.stdin, { lineBytesMax: 1 << 20 })) {
        const message = JSON.parse(line);
        seen.push(message);
        await handle(message);
      }
    },
  };
}
