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

/** One connection. */
export interface Link {
  /** Time of `performance.now` at which it was put aside. */
  idleSince: number;
  write(bytes: Uint8Array): Promise<void>;
  /** Reads up to an empty line, which is taken off; undefined when the peer ends before a byte. */
  readHead(bytesMax: number): Promise<string | undefined>;
  /** Takes at most `bytesMax` of what is there, else of what comes next; undefined at the end. */
  take(bytesMax: number): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Takes what is there already, at most `bytesMax`. */
  takeBuffered(bytesMax: number): Uint8Array<ArrayBuffer>;
  isEmpty(): boolean;
  close(): void;
}

const END = Buffer.from("\r\n\r\n", "latin1");

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

function linkOf(connection: Deno.TcpConn): Link {
  let buffer = Buffer.allocUnsafeSlow(UPSTREAM_LIMITS.readBytes);
  let start = 0;
  let end = 0;
  const fill = async (): Promise<boolean> => {
    const read = await connection.read(buffer.subarray(end));
    if (read === null) return false;
    end += read;
    return true;
  };
  const takeBuffered = (bytesMax: number) => {
    const taken = new Uint8Array(buffer.buffer.slice(start, Math.min(end, start + bytesMax)));
    start += taken.length;
    if (start === end) start = end = 0;
    return taken;
  };
  return {
    idleSince: 0,
    write: async (bytes) => {
      for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
    },
    readHead: async (bytesMax) => {
      for (;;) {
        const found = buffer.subarray(start, end).indexOf(END);
        if (found !== -1) {
          const text = buffer.toString("latin1", start, start + found);
          start += found + END.length;
          if (start === end) start = end = 0;
          return text;
        }
        const have = end - start;
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
    close: () => {
      try {
        connection.close();
      } catch {
        // Closed already.
      }
    },
  };
}
