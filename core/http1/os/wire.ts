/**
 * One accepted connection as bytes: a read buffer, at most one pending read, and sequential writes.
 * It reads ahead while an answer is prepared, to notice a disconnect. Finds the end of a head, but
 * knows nothing else about HTTP.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { isHeadStart } from "core/http1/request_head.ts";
import { WIRE_LIMITS } from "core/http1/wire_limits.ts";
import { printAddress } from "core/os/address.ts";
import { putLatin1 } from "core/http1/os/latin1.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What a connection waits for; determines its timeout. */
export type Waiting = "head" | "handler" | "answer" | "write" | "end";

const CR = 0x0d;
const LF = 0x0a;
/** Pool of buffers for answers. */
const scratches: Bytes[] = [];
const SCRATCHES_MAX = 64;

/** The part of an accepted connection that is used here. */
export type Connection = Pick<
  Deno.TcpConn,
  "read" | "write" | "closeWrite" | "close" | "setNoDelay" | "remoteAddr"
>;

/** One connection with its buffer. */
export class Wire {
  /** Address of the peer as text. */
  readonly peer: string;
  /** What it waits for, and whether it has served before. */
  waiting: Waiting = "head";
  isReused = false;
  /**
   * The owner's checks since this wait began, and since the current body began. Counting checks is
   * cheaper than reading the clock at each step.
   */
  checks = 0;
  bodyChecks: number | undefined;
  /** Called at most once, when the peer has disconnected or this side has closed. */
  onDisconnect: (() => void) | undefined;

  readonly #connection: Connection;
  #buffer = new Uint8Array(WIRE_LIMITS.readBytesFirst);
  #start = 0;
  #end = 0;
  /** Position where the search for the end of a head resumes, and of the last line end. */
  #searched = 0;
  #lineEnd = -1;
  #reading: Promise<boolean> | undefined;
  #writing: Promise<void> | undefined;
  #isWatched = false;
  #isDisconnected = false;
  #isClosed = false;

  constructor(connection: Connection) {
    this.#connection = connection;
    const { hostname, port } = connection.remoteAddr;
    this.peer = printAddress({ hostname, port });
    connection.setNoDelay(true);
  }

  get isDisconnected(): boolean {
    return this.#isDisconnected;
  }

  get buffered(): number {
    return this.#end - this.#start;
  }

  /** Sets what the connection waits for. */
  wait(waiting: Waiting): void {
    this.waiting = waiting;
    this.checks = 0;
  }

  /** Reads more into the buffer; false if the peer has disconnected or the buffer is full. */
  fill(): Promise<boolean> {
    if (this.#reading !== undefined) return this.#reading;
    if (this.#isDisconnected || !this.#makeRoom()) return Promise.resolve(false);
    return this.#reading = this.#fill();
  }

  /** Reads ahead while an answer is prepared, to notice a disconnect. */
  async watch(): Promise<void> {
    // One watcher only, even for pipelined requests.
    if (this.#isWatched) return;
    this.#isWatched = true;
    while (await this.fill() && this.waiting !== "head");
    this.#isWatched = false;
  }

  async #fill(): Promise<boolean> {
    let read: number | null = null;
    try {
      read = await this.#connection.read(this.#buffer.subarray(this.#end));
    } catch {
      // Reset, or closed here: disconnected in both cases.
    }
    this.#reading = undefined;
    if (read !== null) {
      this.#end += read;
      return true;
    }
    this.#disconnected();
    return false;
  }

  #disconnected(): void {
    this.#isDisconnected = true;
    const onDisconnect = this.onDisconnect;
    this.onDisconnect = undefined;
    onDisconnect?.();
  }

  /** Grows the buffer, up to the maximum size of a head. */
  #makeRoom(): boolean {
    if (this.#end < this.#buffer.length) return true;
    const have = this.buffered;
    if (this.#start === 0) {
      if (have >= WIRE_LIMITS.headBytesMax) return false;
      const larger = new Uint8Array(Math.min(WIRE_LIMITS.headBytesMax, have * 2));
      larger.set(this.#buffer);
      this.#buffer = larger;
      return true;
    }
    this.#buffer.copyWithin(0, this.#start, this.#end);
    this.#searched -= this.#start;
    this.#lineEnd -= this.#start;
    this.#start = 0;
    this.#end = have;
    return true;
  }

  /**
   * Reads and consumes a head with its empty line. Undefined if the peer disconnects before; a
   * status if the head is invalid or too long.
   */
  async readHead(): Promise<string | 400 | 431 | undefined> {
    for (;;) {
      const found = this.#findHead();
      if (found !== undefined) return found;
      if (await this.fill()) continue;
      return this.#isDisconnected ? undefined : 431;
    }
  }

  #findHead(): string | 400 | undefined {
    const buffer = this.#buffer;
    for (let from = this.#searched;; from = this.#lineEnd + 1) {
      // Another protocol shows at its first byte, before any line ends.
      if (from === this.#start && from < this.#end && !isHeadStart(buffer[from] ?? 0)) return 400;
      const at = buffer.indexOf(LF, from);
      // Bytes behind the end are from an earlier read.
      if (at === -1 || at >= this.#end) break;
      // A bare LF is ambiguous: other parsers may not end the line there.
      if (at === this.#start || buffer[at - 1] !== CR) return 400;
      if (at === this.#start + 1) {
        // Empty lines before a request are skipped (RFC 9112, 2.2).
        this.#start = at + 1;
      } else if (at - this.#lineEnd === 2) {
        const head = textOf(buffer, this.#start, at - 3);
        this.#start = at + 1;
        this.#rewind();
        return head;
      }
      this.#lineEnd = at;
    }
    this.#searched = this.#end;
    return undefined;
  }

  /** Consumes buffered bytes, at most `bytesMax`, as a copy. */
  takeBuffered(bytesMax: number): Bytes {
    const to = Math.min(this.#end, this.#start + bytesMax);
    const bytes = this.#buffer.slice(this.#start, to);
    this.skipBuffered(bytes.length);
    return bytes;
  }

  /** Drops buffered bytes, at most `bytesMax`; returns how many. */
  skipBuffered(bytesMax: number): number {
    const bytes = Math.min(this.buffered, bytesMax);
    this.#start += bytes;
    this.#rewind();
    return bytes;
  }

  #rewind(): void {
    // Not during a read, which writes to the old end of the buffer.
    if (this.#start === this.#end && this.#reading === undefined) this.#start = this.#end = 0;
    this.#searched = this.#start;
    this.#lineEnd = -1;
  }

  /** Consumes buffered bytes, else reads; undefined if the peer has disconnected. */
  async take(bytesMax: number): Promise<Bytes | undefined> {
    while (this.buffered === 0) if (!await this.fill()) return undefined;
    return this.takeBuffered(bytesMax);
  }

  /**
   * Writes a head and a body, in one write if they are short. Rejects after a disconnect.
   */
  async writeHead(text: string, body?: Uint8Array): Promise<void> {
    const bytes = text.length + (body?.length ?? 0);
    if (bytes > WIRE_LIMITS.writeBytesJoined) {
      await this.write(Buffer.from(text, "latin1"));
      if (body !== undefined) await this.write(body);
      return;
    }
    const scratch = scratches.pop() ?? new Uint8Array(WIRE_LIMITS.writeBytesJoined);
    try {
      putLatin1(text, scratch);
      if (body !== undefined) scratch.set(body, text.length);
      await this.write(scratch.subarray(0, bytes));
    } finally {
      if (scratches.length < SCRATCHES_MAX) scratches.push(scratch);
    }
  }

  /** Writes after all pending writes. */
  async write(bytes: Uint8Array): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    this.#writing = this.#write(bytes);
    try {
      await this.#writing;
    } finally {
      this.#writing = undefined;
    }
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#connection.write(bytes.subarray(at));
  }

  /**
   * Closes this side and drops received bytes until the peer closes its side. Closing over unread
   * bytes would reset the connection, and the peer could lose the answer (RFC 9112, 9.6).
   */
  async linger(): Promise<void> {
    this.wait("end");
    await this.#connection.closeWrite().catch(() => {});
    do this.skipBuffered(Infinity); while (await this.fill());
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
    // Without a pending read the disconnect would go unnoticed.
    this.#disconnected();
  }

  /** Resolves when no read is pending. */
  async settled(): Promise<void> {
    await this.#reading;
  }
}

function textOf(bytes: Bytes, from: number, to: number): string {
  return Buffer.from(bytes.buffer, from, to - from).toString("latin1");
}
