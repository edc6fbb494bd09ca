/**
 * One connection to an upstream, with the buffer of what has been read and not been used yet.
 * Knows heads as far as their empty line, nothing else of HTTP.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { errorText } from "core/errors.ts";
import { UPSTREAM_LIMITS } from "core/limits.ts";
import type { ListenAddress } from "core/ports.ts";
import { UpstreamFault } from "core/proxy_port.ts";
import { putLatin1 } from "core/os/latin1.ts";

/** One connection. */
export interface Link {
  /** Time of `performance.now` at which it was put aside. */
  idleSince: number;
  write(bytes: Uint8Array): Promise<void>;
  /** Writes a head, whose characters are bytes. */
  writeHead(text: string): Promise<void>;
  /** Reads up to an empty line, which is taken off; undefined when the peer ends before a byte. */
  readHead(bytesMax: number): Promise<string | undefined>;
  /** Takes at most `bytesMax` of what is there, else of what comes next; undefined at the end. */
  take(bytesMax: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Takes what is there already, at most `bytesMax`. */
  takeBuffered(bytesMax: number): Uint8Array<ArrayBuffer>;
  isEmpty(): boolean;
  /** Reads ahead once; resolves when something came or the peer left. Never rejects. */
  watch(): Promise<void>;
  close(): void;
}

/** Most heads fit. */
const OUT_BYTES_FIRST = 2 * 1024;
const END = "\r\n\r\n";
/** Small bodies share memory: a piece of its own for each costs more than copying it. */
const SLAB_BYTES = 64 * 1024;
const SLAB_PIECE_MAX = 4 * 1024;
let slab = new Uint8Array(SLAB_BYTES);
let slabUsed = 0;

/** Copies bytes to where nobody writes again. */
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

/** Makes a link of a connection. */
export function linkOf(connection: Deno.Conn): Link {
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
  // One read at a time: two would put their bytes into the same place.
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
        // As text: finding something in it costs a tenth of finding it in bytes.
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

/** Reads the head of the final answer; undefined when the connection ends before its first byte. */
export async function readAnswerHead(link: Link): Promise<string | undefined> {
  for (let interim = 0; interim <= UPSTREAM_LIMITS.interimAnswersMax; interim++) {
    const text = await link.readHead(UPSTREAM_LIMITS.headBytesMax);
    // 100 and 103 go before the answer; 101 was not asked for and is a fault further on.
    if (text === undefined || !/^HTTP\/1\.[01] 1(?!01)/.test(text)) return text;
  }
  throw new UpstreamFault("malformed", "it has too many interim answers");
}
