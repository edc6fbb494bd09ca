/**
 * The few system calls that Deno does not offer under a scoped permission set. They signal process
 * groups, read `/proc`, and find sockets that the peer has closed. They need only the ffi
 * permission for the path of libc. They read no files except those of `/proc`, and write none.
 *
 * Helper programs such as `/bin/kill` and `/bin/cat` would cost one process per check. Until they
 * run, the kernel could also reuse the pid.
 *
 * @module
 */

import type { Socket } from "node:net";
import type { PeerCredentials } from "core/ports/sockets.ts";
import { keepDescriptors, LIBC_PATHS, openLibc } from "core/os/libc.ts";
import { readPeerCredentials } from "core/os/peer_credentials.ts";
import { createProcReader, type ProcReader } from "core/os/proc.ts";

/** System calls of the embedded manager. */
export interface Kernel extends ProcReader {
  /** Sends a signal to a process, or to a whole group when `pid` is negative. */
  kill(pid: number, signal: number): boolean;
  /** Returns for each descriptor whether the peer has closed both directions. */
  hungUp(descriptors: readonly number[]): readonly boolean[];
  /** Returns the credentials of the peer; throws when the kernel does not report them. */
  readPeer(socket: Socket): PeerCredentials;
  /** Marks all open descriptors so that later children do not inherit them. */
  keepDescriptors(): void;
  /** Runs `work` under another umask; `work` must be synchronous. */
  withUmask<T>(mask: number, work: () => T): T;
  /** Closes the library. Call no other function afterwards. */
  close(): void;
}

const POLLERR = 0x8;
const POLLHUP = 0x10;
const POLLNVAL = 0x20;
const POLLFD_BYTES = 8;

const SYMBOLS = {
  kill: { parameters: ["i32", "i32"], result: "i32" },
  poll: { parameters: ["buffer", "u64", "i32"], result: "i32" },
} as const;

type Calls = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

/** Opens the library; throws where it is absent or not in the permission set. */
export function openKernel(): Kernel {
  const library = Deno.dlopen(LIBC_PATHS[Deno.build.arch], SYMBOLS);
  const libc = openLibc();
  return {
    ...createCalls(library.symbols),
    ...createProcReader(libc),
    readPeer: (socket) => readPeerCredentials(socket, libc),
    keepDescriptors: () => keepDescriptors(libc),
    withUmask(mask, work) {
      const before = libc.symbols.umask(mask);
      try {
        return work();
      } finally {
        libc.symbols.umask(before);
      }
    },
    close() {
      library.close();
      libc.close();
    },
  };
}

function createCalls(
  libc: Calls,
): Pick<Kernel, "kill" | "hungUp"> {
  return {
    kill(pid, signal) {
      // 0 would signal this process's group, 1 init, and -1 every process. No caller intends that.
      if (Math.abs(pid) <= 1) throw new RangeError(`Cannot signal pid ${pid}`);
      return libc.kill(pid, signal) === 0;
    },
    hungUp(descriptors) {
      if (descriptors.length === 0) return [];
      const view = new DataView(new ArrayBuffer(descriptors.length * POLLFD_BYTES));
      descriptors.forEach((fd, index) => view.setInt32(index * POLLFD_BYTES, fd, true));
      libc.poll(new Uint8Array(view.buffer), BigInt(descriptors.length), 0);
      return descriptors.map((_, index) => {
        const seen = view.getInt16(index * POLLFD_BYTES + 6, true);
        return (seen & (POLLHUP | POLLERR | POLLNVAL)) !== 0;
      });
    },
  };
}
