/**
 * The proxy's own requests to a server: the handshake replayed to a new server, and the tool list
 * that a call waits for. Each ends with an answer, a timeout, or the end of the server. The client
 * sees none of them.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import { err, ok, type Result } from "core/result.ts";
import type { MessageId } from "units/mcp/message.ts";

/** The whole message that a server answered. */
type Answer = Readonly<Record<string, unknown>>;

/** Requests in progress. */
export interface OwnRequests {
  /**
   * Sends the request that is built for an id, and waits for its answer. An error is a sentence
   * part.
   */
  ask(
    make: (id: string) => Uint8Array<ArrayBuffer>,
    send: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>,
  ): Promise<Result<Answer, string>>;
  /** Whether an answer belongs to an own request; it is then not forwarded to the client. */
  take(id: MessageId, value: Answer): boolean;
  /** The same for an unreadable answer. */
  fail(id: MessageId, why: string): boolean;
  /** The server is gone. */
  end(why: string): void;
}

const ID_PREFIX = "fleetctl-own-";

/** Whether an id belongs to the proxy; clients must not use it. */
export function isOwnId(id: MessageId): boolean {
  return typeof id === "string" && id.startsWith(ID_PREFIX);
}

/** Creates an empty table; each request times out after `seconds`. */
export function createOwnRequests(clock: Pick<Clock, "after">, seconds: number): OwnRequests {
  const open = new Map<MessageId, (result: Result<Answer, string>) => void>();
  let count = 0;
  return {
    async ask(make, send) {
      const id = `${ID_PREFIX}${++count}`;
      const { promise, resolve } = Promise.withResolvers<Result<Answer, string>>();
      open.set(id, resolve);
      const stop = clock.after(
        seconds * 1000,
        () => resolve(err(`it gave no answer within ${seconds} s`)),
      );
      await send(make(id));
      const result = await promise;
      stop();
      open.delete(id);
      return result;
    },
    take(id, value) {
      const settle = open.get(id);
      settle?.(ok(value));
      return settle !== undefined;
    },
    fail(id, why) {
      const settle = open.get(id);
      settle?.(err(why));
      return settle !== undefined;
    },
    end(why) {
      for (const settle of open.values()) settle(err(why));
    },
  };
}
