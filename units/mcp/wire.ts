/**
 * The port of a connection that passes many small messages on, and web streams as one,
 * for peers that have no other form: HTTP, and streams in memory. No I/O; the machine's
 * are in `units/mcp/os/wires.ts`.
 *
 * @module
 */

import type { ByteStream } from "core/ports/sockets.ts";

/**
 * A byte stream to a peer, as `ByteStream` is one, without the machinery of web streams, which
 * costs more than short messages do.
 */
export interface Wire {
  /** Reads what is there; undefined at the end. The bytes stand until the next read. */
  read(): Promise<Uint8Array | undefined>;
  /** Writes whole messages in order; resolves when the kernel took them. */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Writes a short message at once, for a peer that is known to wait for it; false when that is
   * not possible, and nothing was written. A peer that does not read holds the whole program up.
   */
  writeNow?(bytes: Uint8Array): boolean;
  close(): void;
}

/** Wraps a byte stream; `close` ends this side when the stream cannot be closed as a whole. */
export function wireOf(
  stream: Pick<ByteStream, "readable" | "writable"> & Partial<Pick<ByteStream, "close">>,
): Wire {
  const reader = stream.readable.getReader();
  const writer = stream.writable.getWriter();
  writer.closed.catch(() => {/* the next write reports it */});
  return {
    read: async () => (await reader.read()).value,
    write: (bytes) => writer.write(bytes),
    close() {
      if (stream.close !== undefined) return stream.close();
      void writer.close().catch(() => {/* the reader closed its end first */});
    },
  };
}
