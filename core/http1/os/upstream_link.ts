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

/** Wraps a connection as a link. */
export function linkOf(connection: Pick<Deno.Conn, "read" | "write" | "close">): Link {
  let buffer = Buffer.allocUnsafeSlow(UPSTREAM_LIMITS.readBytes);
  let start = 0;
  let end = 0;
  let out = new Uint8Array(OUT_BYTES_FIRST);
  const write = async (bytes: Uint8Array) => {
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  };
  let reading: Promise<boolean> | undefined;
  const readMore = async (): Promise<boolean> => {
    try {
      const read = await connection.read(buffer.subarray(end));
      if (read === null) return false;
      end += read;
      return true;
    } finally {
      reading = undefined;
    }
  };
  // One read at a time: a second one would overwrite the bytes of the first.
  const fill = (): Promise<boolean> => reading ??= readMore();
  const takeBuffered = (bytesMax: number) => {
    const taken = copied(buffer.subarray(start, Math.min(end, start + bytesMax)));
    start += taken.length;
    if (start === end) start = end = 0;
    return taken;
  };
  return {
    idleSince: 0,
    write,
    writeHead: (text) => {
      if (text.length > out.length) out = new Uint8Array(text.length);
      putLatin1(text, out);
      return write(out.subarray(0, text.length));
    },
    readHead: async (bytesMax) => {
      for (;;) {
        const have = end - start;
        // As text: searching it is ten times as fast as searching bytes.
        const text = buffer.toString("latin1", start, Math.min(end, start + bytesMax));
        const found = text.indexOf(END);
        if (found !== -1) {
          start += found + END.length;
          if (start === end) start = end = 0;
          return text.slice(0, found);
        }
        if (have >= bytesMax) throw new UpstreamFault("malformed", "its headers are too long");
        if (end === buffer.length) {
          const larger = Buffer.allocUnsafeSlow(
            start === 0 ? Math.min(bytesMax, buffer.length * 2) : buffer.length,
          );
          buffer.copy(larger, 0, start, end);
          buffer = larger;
          start = 0;
          end = have;
        }
        const isMore = await fill().catch(() => false);
        if (isMore) continue;
        if (have === 0) return undefined;
        throw new UpstreamFault("malformed", "it ended within its headers");
      }
    },
    take: async (bytesMax) => {
      if (start === end && !(await fill())) return undefined;
      return takeBuffered(bytesMax);
    },
    takeBuffered,
    isEmpty: () => start === end,
    watch: () => fill().then(() => {}, () => {}),
    close: () => {
      try {
        connection.close();
      } catch {
        // Closed already.
      }
    },
  };
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
