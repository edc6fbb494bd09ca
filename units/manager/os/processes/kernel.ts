/**
 * The few system calls that the runtime does not offer under a scoped permission set: signals to a
 * process group, reads of `/proc`, and whether the peer of a socket has closed. Needs only the ffi
 * permission for the path of libc. It reads only `/proc` and writes nothing.
 *
 * Helper programs are not an option. `/bin/kill` and `/bin/cat` would cost one process per check.
 * Between the check and the signal, the kernel could also reuse the pid.
 *
 * @module
 */

import type { Socket } from "node:net";
import type { PeerCredentials } from "core/ports/sockets.ts";
import { keepDescriptors, LIBC_PATHS, openLibc } from "core/os/libc.ts";
import { readPeerCredentials } from "core/os/peer_credentials.ts";

/** System calls of the embedded manager. */
export interface Kernel {
  /** Returns the text of a small file under `/proc`, or undefined when it cannot be read. */
  readProc(path: string): string | undefined;
  /** Returns the numeric names in `/proc`. */
  listPids(): readonly number[];
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
  /** Closes the library; no other function may be called afterwards. */
  close(): void;
}

const O_CLOEXEC = 0o2000000;
const O_DIRECTORY = 0o200000;
const POLLERR = 0x8;
const POLLHUP = 0x10;
const POLLNVAL = 0x20;
/** `environ` and `stat` are read whole; a larger environment is truncated. */
const PROC_BYTES_MAX = 256 * 1024;
const DIRECTORY_BYTES = 32 * 1024;
/** Offset of `d_reclen` and `d_name` in `struct linux_dirent64`. */
const RECLEN_AT = 16;
const NAME_AT = 19;
const POLLFD_BYTES = 8;

const SYMBOLS = {
  open: { parameters: ["buffer", "i32"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
  getdents64: { parameters: ["i32", "buffer", "usize"], result: "isize" },
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
): Omit<Kernel, "readPeer" | "keepDescriptors" | "withUmask" | "close"> {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const text = new Uint8Array(PROC_BYTES_MAX);
  const names = new Uint8Array(DIRECTORY_BYTES);
  return {
    readProc(path) {
      const descriptor = libc.open(encoder.encode(`${path}\0`), O_CLOEXEC);
      if (descriptor < 0) return undefined;
      let length = 0;
      while (length < text.length) {
        const part = text.subarray(length);
        const count = Number(libc.read(descriptor, part, BigInt(part.length)));
        if (count <= 0) break;
        length += count;
      }
      libc.close(descriptor);
      return length === 0 ? undefined : decoder.decode(text.slice(0, length));
    },
    listPids() {
      const descriptor = libc.open(encoder.encode("/proc\0"), O_CLOEXEC | O_DIRECTORY);
      if (descriptor < 0) return [];
      const pids: number[] = [];
      while (true) {
        const count = Number(libc.getdents64(descriptor, names, BigInt(names.length)));
        if (count <= 0) break;
        collectPids(names.subarray(0, count), pids);
      }
      libc.close(descriptor);
      return pids;
    },
    kill(pid, signal) {
      // 0, 1 and -1 would signal the own group, init and every process: never intended here.
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

function collectPids(entries: Uint8Array, pids: number[]): void {
  const view = new DataView(entries.buffer, entries.byteOffset, entries.byteLength);
  for (let at = 0; at < entries.length; at += view.getUint16(at + RECLEN_AT, true)) {
    let pid = 0;
    let index = at + NAME_AT;
    for (; entries[index] !== 0; index++) {
      const digit = (entries[index] ?? 0) - 0x30;
      if (digit < 0 || digit > 9) {
        pid = 0;
        break;
      }
      pid = pid * 10 + digit;
    }
    if (pid > 0) pids.push(pid);
  }
}
