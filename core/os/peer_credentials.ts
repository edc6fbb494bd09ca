/**
 * Returns the peer of a unix socket, as the kernel recorded it at connect (SO_PEERCRED). Never
 * trusts what the peer sends, and refuses where the kernel cannot be queried. Why: ADR 0002.
 *
 * @module
 */

import type { Socket } from "node:net";
import type { PeerCredentials } from "core/ports/sockets.ts";
import type { Libc } from "core/os/libc.ts";

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** `struct ucred`: pid, uid, gid. */
const CREDENTIAL_WORDS = 3;
/** Read-only (O_RDONLY is 0), closed on exec. */
const O_CLOEXEC = 0o2000000;
/** One page-sized read returns these files of /proc completely. */
const PROC_BYTES_MAX = 4_096;
/** The kernel's value for an unknown id. */
const NO_ID = 0xffff_ffff;

/** Reads the peer's credentials from the kernel; throws when it cannot. Never guesses. */
export function readPeerCredentials(socket: Socket, libc: Libc): PeerCredentials {
  const descriptor = descriptorOf(socket);
  const words = new Uint32Array(CREDENTIAL_WORDS);
  const size = new Uint32Array([words.byteLength]);
  const answer = libc.symbols.getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, words, size);
  const [pid, uid, gid] = words;
  if (
    answer !== 0 || size[0] !== words.byteLength ||
    pid === undefined || uid === undefined || gid === undefined || uid === NO_ID || gid === NO_ID
  ) {
    throw new Error("Cannot identify the peer of a unix socket: the kernel refused");
  }
  if (uid !== 0) return { uid, gid, pid };
  return { uid, gid, pid, isContainerRoot: !isOfOwnNamespaces(pid, libc) };
}

/**
 * Whether a process is in the user and process namespaces of this one. Without a user namespace,
 * root in a container that mounts this socket also has uid 0 here. It is not the operator of this
 * host. A process that has exited or cannot be read counts as foreign. Every user may read both
 * files; the links in `ns/` would require the permission to trace.
 */
function isOfOwnNamespaces(pid: number, libc: Libc): boolean {
  const status = readProc(`/proc/${pid}/status`, libc);
  const map = readProc(`/proc/${pid}/uid_map`, libc);
  // One number after NSpid: the process is in this pid namespace, not in a nested one.
  return status !== undefined && /^NSpid:\t\d+$/m.test(status) &&
    map !== undefined && map === readProc("/proc/self/uid_map", libc);
}

/** NOTE: Deno requires --allow-all to read /proc; libc does not. */
function readProc(path: string, libc: Libc): string | undefined {
  const descriptor = libc.symbols.open(new TextEncoder().encode(`${path}\0`), O_CLOEXEC);
  if (descriptor < 0) return undefined;
  try {
    const buffer = new Uint8Array(PROC_BYTES_MAX);
    const length = Number(libc.symbols.read(descriptor, buffer, BigInt(buffer.length)));
    return length > 0 ? new TextDecoder().decode(buffer.subarray(0, length)) : undefined;
  } finally {
    libc.symbols.close(descriptor);
  }
}

/** NOTE: not a public field of `node:net`; a contract test detects its removal. */
function descriptorOf(socket: Socket): number {
  const handle = (socket as unknown as { _handle?: { fd?: unknown } | null })._handle;
  const descriptor = handle?.fd;
  if (typeof descriptor !== "number" || !Number.isInteger(descriptor) || descriptor < 0) {
    throw new Error("Cannot identify the peer of a unix socket: it has no descriptor");
  }
  return descriptor;
}
