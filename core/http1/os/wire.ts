/**
 * One accepted connection as bytes: a buffer of what was read and not used, one read under way at most,
 * and writes one after the other. It reads ahead while an answer is made, so that a peer that leaves is
 * noticed. Knows a head as far as its empty line, nothing else of HTTP.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { isHeadStart } from "core/http1_request.ts";
import { WIRE_LIMITS } from "core/wire_limits.ts";
import { printAddress } from "core/os/address.ts";
import { putLatin1 } from "core/os/latin1.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** What a connection waits for; whoever looks at the clock goes by it. */
export type Waiting = "head" | "handler" | "answer" | "taker" | "end";

const CR = 0x0d;
const LF = 0x0a;
/** Buffers in which answers are put together, used again. */
const scratches: Bytes[] = [];
const SCRATCHES_MAX = 64;

/** One connection. */
export class Wire {
  /** Address of the other end as text. */
  readonly peer: string;
  /** What it waits for, and whether it has served before. */
  waiting: Waiting = "head";
  isReused = false;
  /**
   * Looks of the owner since it waits for that, and since a body began that has not come to its end.
   * Counting looks costs nothing where asking the clock at each step does.
   */
  looks = 0;
  bodyLooks: number | undefined;
  /** Called once, when the other end has left. */
  onLeft: (() => void) | undefined;

  readonly #connection: Deno.TcpConn;
  #buffer = new Uint8Array(WIRE_LIMITS.readBytesFirst);
  #start = 0;
  #end = 0;
  /** Where the search for the end of a head goes on, and its last line end. */
  #looked = 0;
  #lineEnd = -1;
  #reading: Promise<boolean> | undefined;
  #writing: Promise<void> | undefined;
  #isWatched = false;
  #hasLeft = false;
  #isClosed = false;

  constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
    const { hostname, port } = connection.remoteAddr;
    this.peer = printAddress({ hostname, port });
    connection.setNoDelay(true);
  }

  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  get buffered(): number {
    return this.#end - this.#start;
  }

  /** Says what is waited for from now on. */
  wait(waiting: Waiting): void {
    this.waiting = waiting;
    this.looks = 0;
  }

  /** Reads more into the buffer; false when the peer has left or there is no room. */
  fill(): Promise<boolean> {
    if (this.#reading !== undefined) return this.#reading;
    if (this.#hasLeft || !this.#makeRoom()) return Promise.resolve(false);
    return this.#reading = this.#fill();
  }

  /** Reads ahead as long as an answer is made, so that a peer that leaves is noticed. */
  async watch(): Promise<void> {
    // Requests that came at once must not leave a watcher each.
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
      // Reset, or closed here: it has left either way.
    }
    this.#reading = undefined;
    if (read !== null) {
      this.#end += read;
      return true;
    }
    this.#leave();
    return false;
  }

  #leave(): void {
    this.#hasLeft = true;
    const told = this.onLeft;
    this.onLeft = undefined;
    told?.();
  }

  /** Lets the buffer grow up to the size of a head. */
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
    this.#looked -= this.#start;
    this.#lineEnd -= this.#start;
    this.#start = 0;
    this.#end = have;
    return true;
  }

  /**
   * Reads a head and takes it off with its empty line. Undefined when the peer leaves before;
   * a status when it is none, or too long.
   */
  async readHead(): Promise<string | 400 | 431 | undefined> {
    for (;;) {
      const found = this.#findHead();
      if (found !== undefined) return found;
      if (await this.fill()) continue;
      return this.#hasLeft ? undefined : 431;
    }
  }

  #findHead(): string | 400 | undefined {
    const buffer = this.#buffer;
    for (let from = this.#looked;; from = this.#lineEnd + 1) {
      // Another protocol shows at its first byte, before any line ends.
      if (from === this.#start && from < this.#end && !isHeadStart(buffer[from] ?? 0)) return 400;
      const at = buffer.indexOf(LF, from);
      // What lies behind the end is of an earlier read.
      if (at === -1 || at >= this.#end) break;
      // A line that ends in LF alone ends elsewhere for somebody else.
      if (at === this.#start || buffer[at - 1] !== CR) return 400;
      if (at === this.#start + 1) {
        // Empty lines before a request are passed over (RFC 9112, 2.2).
        this.#start = at + 1;
      } else if (at - this.#lineEnd === 2) {
        const head = textOf(buffer, this.#start, at - 3);
        this.#start = at + 1;
        this.#rewind();
        return head;
      }
      this.#lineEnd = at;
    }
    this.#looked = this.#end;
    return undefined;
  }

  /** Takes what is there, at most `bytesMax`, as bytes of the caller's own. */
  takeBuffered(bytesMax: number): Bytes {
    const to = Math.min(this.#end, this.#start + bytesMax);
    const taken = this.#buffer.slice(this.#start, to);
    this.skipBuffered(taken.length);
    return taken;
  }

  /** Drops what is there, at most `bytesMax`; returns how much. */
  skipBuffered(bytesMax: number): number {
    const bytes = Math.min(this.buffered, bytesMax);
    this.#start += bytes;
    this.#rewind();
    return bytes;
  }

  #rewind(): void {
    // Not under a read, which writes to where the buffer ended before.
    if (this.#start === this.#end && this.#reading === undefined) this.#start = this.#end = 0;
    this.#looked = this.#start;
    this.#lineEnd = -1;
  }

  /** Takes what is there, else what comes next; undefined when the peer has left. */
  async take(bytesMax: number): Promise<Bytes | undefined> {
    while (this.buffered === 0) if (!await this.fill()) return undefined;
    return this.takeBuffered(bytesMax);
  }

  /** Writes a head, and bytes behind it, in one go when they are few. Rejects when the peer left. */
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

  /** Writes behind what is being written already. */
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
   * Ends our side and drops what still comes, until the peer has ended its own: a connection that is
   * closed over unread bytes is reset, and a reset takes the answer away (RFC 9112, 9.6).
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
    // Nobody may be reading who would notice.
    this.#leave();
  }

  /** Resolves when nothing of it is under way. */
  async settled(): Promise<void> {
    await this.#reading;
  }
}

function textOf(bytes: Bytes, from: number, to: number): string {
  return Buffer.from(bytes.buffer, from, to - from).toString("latin1");
}
