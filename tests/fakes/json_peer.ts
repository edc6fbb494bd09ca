/**
 * A program that speaks newline-delimited JSON, controlled by a test. It reads its client's
 * messages one by one and writes what the test wants.
 *
 * @module
 */

import { readLines } from "core/text/lines.ts";
import type { FakeCall } from "tests/fakes/processes.ts";

// deno-lint-ignore no-explicit-any -- a test inspects messages of several protocols.
export type PeerMessage = any;

/** The program's end of the pipe. */
export interface JsonPeer {
  /** Every message that the client has written. */
  readonly seen: readonly PeerMessage[];
  say(...messages: readonly unknown[]): Promise<void>;
  /**
   * Passes each message to `handle`, one after another. Resolves when the client's input has ended.
   */
  serve(handle: (message: PeerMessage) => Promise<void> | void): Promise<void>;
}

/** Creates a peer from the call of a fake program. */
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
