/**
 * The receiver's end of the handover. It sends requests to the sender, answered by number. It
 * hands spooled items over in order, one at a time for each agent, so that one agent's full queue
 * blocks no other agent.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import { readLines } from "core/text/lines.ts";
import {
  type HandoverResponse,
  LINE_BYTES_MAX,
  parseResponse,
  type RequestBody,
} from "teamchat/handover/frames.ts";
import type { Spool, SpoolItem } from "teamchat/receiver/spool.ts";

/** The connection to the sender. */
export interface SenderLink {
  /** Replaces an older connection. */
  attach(stream: ByteStream): void;
  /** Hands an item over, now or once the sender is connected. */
  offer(item: SpoolItem): void;
  /**
   * Sends a request. Undefined when the sender is disconnected or does not answer in time, or when
   * too many bytes are unsent.
   */
  ask(question: RequestBody, timeoutMs?: number): Promise<HandoverResponse | undefined>;
  isConnected(): boolean;
  /** Resolves when nothing waits, when the sender is disconnected, or after this long. */
  drain(timeoutMs: number): Promise<void>;
  close(): void;
}

/** Retry delay when the sender had no room or a disk failure. */
const AGAIN_MS = 1_000;

/** Bytes buffered for a sender that reads nothing; beyond that, `ask` with a timeout fails. */
const UNSENT_BYTES_MAX = 8 * 1024 * 1024;

/** Dependencies of the link. */
export interface LinkDeps {
  readonly spool: Pick<Spool, "all" | "remove">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Creates it. Items that an earlier process left in the spool are offered first. */
export function createSenderLink(deps: LinkDeps): SenderLink {
  return new Link(deps);
}

interface Connection {
  readonly stream: ByteStream;
  readonly writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly pending: Map<number, (answer: HandoverResponse | undefined) => void>;
  /** Bytes written that the connection has not accepted yet. */
  unsent: number;
}

class Link implements SenderLink {
  readonly #deps: LinkDeps;
  readonly #lanes = new Map<string, SpoolItem[]>();
  readonly #busy = new Set<string>();
  readonly #timers = new Set<() => void>();
  #connection: Connection | undefined;
  #number = 0;
  /** Called after work on a queue, and when the connection is lost. */
  #onProgress = () => {};

  constructor(deps: LinkDeps) {
    this.#deps = deps;
    for (const item of deps.spool.all()) this.#line(item);
  }

  attach(stream: ByteStream): void {
    this.#drop(this.#connection);
    const writer = stream.writable.getWriter();
    const connection: Connection = { stream, writer, pending: new Map(), unsent: 0 };
    this.#connection = connection;
    this.#deps.log.info("sender connected");
    void this.#read(connection);
    for (const agent of [...this.#lanes.keys()]) void this.#hand(agent);
  }

  offer(item: SpoolItem): void {
    this.#line(item);
    void this.#hand(item.agent);
  }

  async ask(question: RequestBody, timeoutMs?: number): Promise<HandoverResponse | undefined> {
    const connection = this.#connection;
    if (connection === undefined) return undefined;
    const n = ++this.#number;
    const line = new TextEncoder().encode(`${JSON.stringify({ ...question, n })}\n`);
    // A stuck sender accepts nothing, but requests continue to arrive. Spooled items need no check
    // here, because the spool has its own limit.
    const isFull = connection.unsent + line.length > UNSENT_BYTES_MAX;
    if (isFull && timeoutMs !== undefined) return undefined;
    const { promise, resolve } = Promise.withResolvers<HandoverResponse | undefined>();
    connection.pending.set(n, resolve);
    const stop = timeoutMs === undefined
      ? () => {}
      : this.#deps.clock.after(timeoutMs, () => resolve(undefined));
    connection.unsent += line.length;
    connection.writer.write(line).then(() => {
      connection.unsent -= line.length;
    }, () => this.#drop(connection));
    const answer = await promise;
    stop();
    connection.pending.delete(n);
    return answer;
  }

  isConnected(): boolean {
    return this.#connection !== undefined;
  }

  async drain(timeoutMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = this.#deps.clock.after(timeoutMs, resolve);
    this.#onProgress = () => {
      if (this.#lanes.size === 0 || this.#connection === undefined) resolve();
    };
    this.#onProgress();
    await promise;
    this.#onProgress = () => {};
    stop();
  }

  close(): void {
    for (const stop of this.#timers) stop();
    this.#drop(this.#connection);
  }

  #line(item: SpoolItem): void {
    const lane = this.#lanes.get(item.agent);
    if (lane === undefined) this.#lanes.set(item.agent, [item]);
    else lane.push(item);
  }

  async #hand(agent: string): Promise<void> {
    if (this.#busy.has(agent)) return;
    this.#busy.add(agent);
    const lane = this.#lanes.get(agent) ?? [];
    let item = lane[0];
    while (item !== undefined) {
      const { body, received, key } = item;
      const answer = await this.ask({ type: "activity", body, received, key });
      // A new connection replaced the one that the request used: send it again.
      if (answer === undefined && this.#connection !== undefined) continue;
      if (answer?.type !== "taken") break;
      if (answer.status === 429 || answer.status >= 500 && answer.status !== 501) {
        this.#again(agent);
        break;
      }
      lane.shift();
      const removed = await this.#deps.spool.remove(item);
      // The next process hands it over again; the sender recognizes its key.
      if (!removed.ok) this.#deps.log.error("spool not emptied", { code: removed.error.code });
      item = lane[0];
    }
    if (lane.length === 0) this.#lanes.delete(agent);
    this.#busy.delete(agent);
    // Handles items that arrived after the last check.
    if (item === undefined && this.#lanes.has(agent)) void this.#hand(agent);
    this.#onProgress();
  }

  #again(agent: string): void {
    const stop = this.#deps.clock.after(AGAIN_MS, () => {
      this.#timers.delete(stop);
      void this.#hand(agent);
    });
    this.#timers.add(stop);
  }

  async #read(connection: Connection): Promise<void> {
    try {
      const lines = readLines(connection.stream.readable, { lineBytesMax: LINE_BYTES_MAX });
      for await (const line of lines) {
        const answer = parseResponse(line);
        if (answer === undefined) break;
        connection.pending.get(answer.n)?.(answer);
      }
    } catch (thrown) {
      this.#deps.log.debug("handover ended", { error: errorText(thrown) });
    }
    this.#drop(connection);
  }

  #drop(connection: Connection | undefined): void {
    if (connection === undefined) return;
    connection.stream.close();
    if (this.#connection === connection) {
      this.#connection = undefined;
      this.#deps.log.warning("sender disconnected");
      this.#onProgress();
    }
    for (const resolve of connection.pending.values()) resolve(undefined);
    connection.pending.clear();
  }
}
