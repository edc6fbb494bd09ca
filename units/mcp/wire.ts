/**
 * The port of a connection for many small messages. Also wraps web streams as a `Wire`, for peers
 * that have no other form: HTTP, and streams in memory. No I/O; the implementations for sockets and
 * stdio are in `units/mcp/os/wires.ts`.
 *
 * @module
 */

import type { ByteStream } from "core/ports/sockets.ts";

/**
 * A byte stream to a peer, like `ByteStream`. It avoids web streams, which cost more than short
 * messages do.
 */
export interface Wire {
  /** Reads the available bytes; undefined at the end. The bytes are valid until the next read. */
  read(): Promise<Uint8Array | undefined>;
  /** Writes whole messages in order; resolves when the kernel has accepted them. */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Writes a short message synchronously, for a peer that is known to wait for it. Returns false,
   * and writes nothing, when that is not possible. A peer that does not read blocks the whole
   * program.
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
