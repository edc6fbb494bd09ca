/**
 * Implements the `Wire` port for a unix socket, and for this program's own stdin and stdout. Reads
 * into one buffer and writes in order. The only queue is that of writes to a slow peer.
 *
 * @module
 */

import type { Wire } from "units/mcp/wire.ts";

const READ_BYTES = 64 * 1024;
/** Largest synchronous write: a sixteenth of the capacity of a pipe on Linux (pipe(7)). */
const WRITE_NOW_BYTES_MAX = 4 * 1024;

/** Connects to a unix socket. */
export async function connectWire(path: string): Promise<Wire> {
  const connection = await Deno.connect({ transport: "unix", path });
  let isClosed = false;
  const buffer = new Uint8Array(READ_BYTES);
  return {
    async read() {
      try {
        const count = await connection.read(buffer);
        return count === null ? undefined : buffer.subarray(0, count);
      } catch (thrown) {
        // This side closed the wire during a read: an end, not a fault.
        if (isClosed) return undefined;
        throw thrown;
      }
    },
    write: inOrder((bytes) => connection.write(bytes)).write,
    close() {
      if (isClosed) return;
      isClosed = true;
      connection.close();
    },
  };
}

/**
 * This program's stdin and stdout; `close` ends stdout. An ordinary write to stdout goes through a
 * thread of the runtime, which takes longer than all other steps for a short message.
 */
export function stdioWire(): Wire {
  const writer = inOrder((bytes) => Deno.stdout.write(bytes));
  let isClosed = false;
  const buffer = new Uint8Array(READ_BYTES);
  return {
    async read() {
      const count = await Deno.stdin.read(buffer);
      return count === null ? undefined : buffer.subarray(0, count);
    },
    write: writer.write,
    writeNow(bytes) {
      if (writer.isBusy() || isClosed || bytes.length > WRITE_NOW_BYTES_MAX) return false;
      try {
        for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
      } catch {
        // The peer is gone; the read side reports it.
        isClosed = true;
      }
      return true;
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      // Earlier writes must still reach the peer.
      void writer.settled().then(() => Deno.stdout.close());
    },
  };
}

/** Runs writes one after another; after a fault, all further writes fail with it. */
function inOrder(
  writeSome: (bytes: Uint8Array) => Promise<number>,
): { write(bytes: Uint8Array): Promise<void>; isBusy(): boolean; settled(): Promise<void> } {
  let last: Promise<void> | undefined;
  const writeAll = async (bytes: Uint8Array, before: Promise<void> | undefined) => {
    if (before !== undefined) await before;
    for (let at = await writeSome(bytes); at < bytes.length;) {
      at += await writeSome(bytes.subarray(at));
    }
  };
  return {
    isBusy: () => last !== undefined,
    settled: async () => {
      await last?.catch(() => {/* the caller of write has the fault */});
    },
    write(bytes) {
      const written = writeAll(bytes, last);
      last = written;
      const forget = () => {
        if (last === written) last = undefined;
      };
      // A fault is permanent: nothing may follow a partial message.
      written.then(forget, () => {});
      return written;
    },
  };
}
