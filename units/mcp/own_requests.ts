/**
 * Requests of the proxy's own to a server: the handshake that is replayed to a new one, and
 * the list of tools that a call waits for. Each is answered, late, or ended with the
 * server; the client sees none.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import { err, ok, type Result } from "core/result.ts";
import type { MessageId } from "units/mcp/message.ts";

/** What a server answered: the whole message. */
type Answer = Readonly<Record<string, unknown>>;

/** Requests under way. */
export interface OwnRequests {
  /** Sends a request made for an id and waits for its answer; an error is a sentence part. */
  ask(
    make: (id: string) => Uint8Array<ArrayBuffer>,
    send: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>,
  ): Promise<Result<Answer, string>>;
  /** Whether an answer was one of ours; it is then not the client's. */
  take(id: MessageId, value: Answer): boolean;
  /** The same for an answer that cannot be read. */
  fail(id: MessageId, why: string): boolean;
  /** The server is gone. */
  end(why: string): void;
}

const ID_PREFIX = "fleetctl-own-";

/** Whether an id is one of these: no client may use it. */
export function isOwnId(id: MessageId): boolean {
  return typeof id === "string" && id.startsWith(ID_PREFIX);
}

/** Creates an empty table; each request is given `seconds`. */
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
