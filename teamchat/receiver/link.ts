/**
 * The receiving half's end of the handover: questions to the sending half, answered by number, and
 * what is spooled handed over in order, one at a time for each agent, so that one agent's full
 * queue holds up nobody else.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import { readLines } from "core/text/lines.ts";
import {
  type Answered,
  LINE_BYTES_MAX,
  type Question,
  readAnswered,
} from "teamchat/handover/frames.ts";
import type { Spool, SpoolItem } from "teamchat/receiver/spool.ts";

/** The way to the sending half. */
export interface SenderLink {
  /** Takes the place of an older connection. */
  attach(stream: ByteStream): void;
  /** Hands an item over, now or once the sending half is there. */
  offer(item: SpoolItem): void;
  /** Asks; undefined when the sending half is away, or does not answer in time. */
  ask(question: Question, timeoutMs?: number): Promise<Answered | undefined>;
  isConnected(): boolean;
  /** Resolves when nothing waits, when nobody is there to take it, or after this long. */
  drain(timeoutMs: number): Promise<void>;
  close(): void;
}

/** The sending half had no room or no disk; the item is offered again after this long. */
const AGAIN_MS = 1_000;

/** What is kept for a sending half that reads nothing, before it counts as away. */
const UNSENT_BYTES_MAX = 8 * 1024 * 1024;

/** What the link is made of. */
export interface LinkParts {
  readonly spool: Pick<Spool, "all" | "remove">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Makes it; what an earlier process left in the spool is offered first. */
export function createSenderLink(parts: LinkParts): SenderLink {
  return new Link(parts);
}

interface Connection {
  readonly stream: ByteStream;
  readonly writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly asked: Map<number, (answer: Answered | undefined) => void>;
  /** Bytes that it was not there to take yet. */
  unsent: number;
}

class Link implements SenderLink {
  readonly #parts: LinkParts;
  readonly #lanes = new Map<string, SpoolItem[]>();
  readonly #busy = new Set<string>();
  readonly #timers = new Set<() => void>();
  #connection: Connection | undefined;
  #number = 0;
  /** Told after a lane was worked on, and when the connection is gone. */
  #onProgress = () => {};

  constructor(parts: LinkParts) {
    this.#parts = parts;
    for (const item of parts.spool.all()) this.#line(item);
  }

  attach(stream: ByteStream): void {
    this.#drop(this.#connection);
    const writer = stream.writable.getWriter();
    const connection: Connection = { stream, writer, asked: new Map(), unsent: 0 };
    this.#connection = connection;
    this.#parts.log.info("sending half connected");
    void this.#read(connection);
    for (const agent of [...this.#lanes.keys()]) void this.#hand(agent);
  }

  offer(item: SpoolItem): void {
    this.#line(item);
    void this.#hand(item.agent);
  }

  async ask(question: Question, timeoutMs?: number): Promise<Answered | undefined> {
    const connection = this.#connection;
    if (connection === undefined) return undefined;
    const n = ++this.#number;
    const line = new TextEncoder().encode(`${JSON.stringify({ ...question, n })}\n`);
    // One that hangs takes nothing, and whoever presses goes on: what is spooled is
    // bounded by itself.
    const isFull = connection.unsent + line.length > UNSENT_BYTES_MAX;
    if (isFull && timeoutMs !== undefined) return undefined;
    const { promise, resolve } = Promise.withResolvers<Answered | undefined>();
    connection.asked.set(n, resolve);
    const stop = timeoutMs === undefined
      ? () => {}
      : this.#parts.clock.after(timeoutMs, () => resolve(undefined));
    connection.unsent += line.length;
    connection.writer.write(line).then(() => {
      connection.unsent -= line.length;
    }, () => this.#drop(connection));
    const answer = await promise;
    stop();
    connection.asked.delete(n);
    return answer;
  }

  isConnected(): boolean {
    return this.#connection !== undefined;
  }

  async drain(timeoutMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = this.#parts.clock.after(timeoutMs, resolve);
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
      // Another connection took the place of the one that was asked over.
      if (answer === undefined && this.#connection !== undefined) continue;
      if (answer?.type !== "taken") break;
      if (answer.status === 429 || answer.status >= 500 && answer.status !== 501) {
        this.#again(agent);
        break;
      }
      lane.shift();
      const removed = await this.#parts.spool.remove(item);
      // It is handed over again by the next process, and recognized there by its key.
      if (!removed.ok) this.#parts.log.error("spool not emptied", { code: removed.error.code });
      item = lane[0];
    }
    if (lane.length === 0) this.#lanes.delete(agent);
    this.#busy.delete(agent);
    // What came between the last look and here.
    if (item === undefined && this.#lanes.has(agent)) void this.#hand(agent);
    this.#onProgress();
  }

  #again(agent: string): void {
    const stop = this.#parts.clock.after(AGAIN_MS, () => {
      this.#timers.delete(stop);
      void this.#hand(agent);
    });
    this.#timers.add(stop);
  }

  async #read(connection: Connection): Promise<void> {
    try {
      const lines = readLines(connection.stream.readable, { lineBytesMax: LINE_BYTES_MAX });
      for await (const line of lines) {
        const answer = readAnswered(line);
        if (answer === undefined) break;
        connection.asked.get(answer.n)?.(answer);
      }
    } catch (thrown) {
      this.#parts.log.debug("handover ended", { error: errorText(thrown) });
    }
    this.#drop(connection);
  }

  #drop(connection: Connection | undefined): void {
    if (connection === undefined) return;
    connection.stream.close();
    if (this.#connection === connection) {
      this.#connection = undefined;
      this.#parts.log.warning("sending half gone");
      this.#onProgress();
    }
    for (const resolve of connection.asked.values()) resolve(undefined);
    connection.asked.clear();
  }
}
