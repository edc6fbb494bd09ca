/**
 * One connection to an upstream, with its read buffer. Finds the end of a head, but knows nothing
 * else about HTTP.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { errorText } from "core/errors.ts";
import { UPSTREAM_LIMITS } from "core/limits/http.ts";
import type { ListenAddress } from "core/ports/sockets.ts";
import { type AnswerHead, parseAnswerHead } from "core/http1/messages.ts";
import { UpstreamFault } from "core/http1/upstream_fault.ts";
import { putLatin1 } from "core/http1/os/latin1.ts";

/** One connection. */
export interface Link {
  /** Value of `performance.now()` when it became idle. */
  idleSince: number;
  write(bytes: Uint8Array): Promise<void>;
  /** Writes a head, a Latin-1 string. */
  writeHead(text: string): Promise<void>;
  /** Reads up to an empty line and consumes it; undefined if the peer closes before a byte. */
  readHead(bytesMax: number): Promise<string | undefined>;
  /** Consumes at most `bytesMax` buffered bytes, else reads; undefined at the end. */
  take(bytesMax: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Consumes buffered bytes, at most `bytesMax`. */
  takeBuffered(bytesMax: number): Uint8Array<ArrayBuffer>;
  isEmpty(): boolean;
  /** Reads ahead once; resolves on bytes or a disconnect. Never rejects. */
  watch(): Promise<void>;
  close(): void;
}

/** First size of the write buffer; most heads fit. */
const OUT_BYTES_FIRST = 2 * 1024;
const END = "\r\n\r\n";
/** Small bodies share a buffer: allocating each costs more than copying it. */
const SLAB_BYTES = 64 * 1024;
const SLAB_PIECE_MAX = 4 * 1024;
let slab = new Uint8Array(SLAB_BYTES);
let slabUsed = 0;

/** Copies bytes to memory that is never overwritten. */
function copied(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (bytes.length > SLAB_PIECE_MAX) return new Uint8Array(bytes);
  if (slabUsed + bytes.length > SLAB_BYTES) {
    slab = new Uint8Array(SLAB_BYTES);
    slabUsed = 0;
  }
  const piece = slab.subarray(slabUsed, slabUsed += bytes.length);
  piece.set(bytes);
  return piece;
}

/** Connects; rejects with `UpstreamFault`. */
export async function openLink(at: ListenAddress): Promise<Link> {
  try {
    const connection = await Deno.connect({ hostname: at.hostname, port: at.port });
    connection.setNoDelay(true);
    return linkOf(connection);
  } catch (thrown) {
    throw new UpstreamFault("unreachable", errorText(thrown));
  }
}

/** The part of a connection that a link uses. */
type LinkConnection = Pick<Deno.Conn, "read" | "write" | "close">;

/** Wraps a connection as a link. */
export function linkOf(connection: LinkConnection): Link {
  return new BufferedLink(connection);
}

class BufferedLink implements Link {
  idleSince = 0;
  readonly #connection: LinkConnection;
  #buffer = Buffer.allocUnsafeSlow(UPSTREAM_LIMITS.readBytes);
  #start = 0;
  #end = 0;
  #out = new Uint8Array(OUT_BYTES_FIRST);
  #reading: Promise<boolean> | undefined;

  constructor(connection: LinkConnection) {
    this.#connection = connection;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length;) at += await this.#connection.write(bytes.subarray(at));
  }

  writeHead(text: string): Promise<void> {
    if (text.length > this.#out.length) this.#out = new Uint8Array(text.length);
    putLatin1(text, this.#out);
    return this.write(this.#out.subarray(0, text.length));
  }

  async readHead(bytesMax: number): Promise<string | undefined> {
    for (;;) {
      const have = this.#end - this.#start;
      const head = this.#takeHead(bytesMax);
      if (head !== undefined) return head;
      if (have >= bytesMax) throw new UpstreamFault("malformed", "its headers are too long");
      this.#makeRoom(bytesMax);
      const isMore = await this.#fill().catch(() => false);
      if (isMore) continue;
      if (have === 0) return undefined;
      throw new UpstreamFault("malformed", "it ended within its headers");
    }
  }

  async take(bytesMax: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (this.isEmpty() && !(await this.#fill())) return undefined;
    return this.takeBuffered(bytesMax);
  }

  takeBuffered(bytesMax: number): Uint8Array<ArrayBuffer> {
    const end = Math.min(this.#end, this.#start + bytesMax);
    const bytes = copied(this.#buffer.subarray(this.#start, end));
    this.#consume(bytes.length);
    return bytes;
  }

  isEmpty(): boolean {
    return this.#start === this.#end;
  }

  watch(): Promise<void> {
    return this.#fill().then(() => {}, () => {});
  }

  close(): void {
    try {
      this.#connection.close();
    } catch {
      // Closed already.
    }
  }

  /** Consumes a head and its empty line; undefined until both are in the buffer. */
  #takeHead(bytesMax: number): string | undefined {
    const end = Math.min(this.#end, this.#start + bytesMax);
    // As text: searching it is ten times as fast as searching bytes.
    const text = this.#buffer.toString("latin1", this.#start, end);
    const found = text.indexOf(END);
    if (found === -1) return undefined;
    this.#consume(found + END.length);
    return text.slice(0, found);
  }

  #consume(count: number): void {
    this.#start += count;
    if (this.#start === this.#end) this.#start = this.#end = 0;
  }

  /** Moves the bytes of a full buffer to another one, with room for more. */
  #makeRoom(bytesMax: number): void {
    const buffer = this.#buffer;
    if (this.#end < buffer.length) return;
    const size = this.#start === 0 ? Math.min(bytesMax, buffer.length * 2) : buffer.length;
    this.#buffer = Buffer.allocUnsafeSlow(size);
    this.#end = buffer.copy(this.#buffer, 0, this.#start, this.#end);
    this.#start = 0;
  }

  /** One read at a time: a second one would overwrite the bytes of the first. */
  #fill(): Promise<boolean> {
    return this.#reading ??= this.#read();
  }

  async #read(): Promise<boolean> {
    try {
      const read = await this.#connection.read(this.#buffer.subarray(this.#end));
      if (read === null) return false;
      this.#end += read;
      return true;
    } finally {
      this.#reading = undefined;
    }
  }
}

/**
 * Reads the head of the final answer to a method; undefined when the connection ends before it
 * begins. Rejects with `UpstreamFault` when it is malformed.
 */
export async function readAnswerHead(link: Link, method: string): Promise<AnswerHead | undefined> {
  for (let interim = 0; interim <= UPSTREAM_LIMITS.interimAnswersMax; interim++) {
    const text = await link.readHead(UPSTREAM_LIMITS.headBytesMax);
    if (text === undefined) return undefined;
    const head = parseAnswerHead(text, method);
    if (!head.ok) throw new UpstreamFault("malformed", head.error);
    if (head.value.status >= 200) return head.value;
    if (!head.value.isKept) {
      throw new UpstreamFault("malformed", "nothing may follow its interim answer");
    }
  }
  throw new UpstreamFault("malformed", "it has too many interim answers");
}
