/**
 * Who is at the other end of a unix socket, as the kernel recorded it at connect (SO_PEERCRED).
 * Never trusts what the peer says, and refuses where the kernel cannot be asked.
 *
 * @module
 */

import type { Socket } from "node:net";
import type { PeerCredentials } from "core/ports.ts";
import type { Libc } from "core/os/libc.ts";

const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** `struct ucred`: pid, uid, gid. */
const CREDENTIAL_WORDS = 3;
/** What the kernel says when there is no peer. */
const NO_ID = 0xffff_ffff;

/** Asks the kernel; throws when it does not answer, so that nobody is taken for somebody. */
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
    throw new Error("Cannot tell who is at the other end of a unix socket: the kernel refused");
  }
  return { uid, gid, pid };
}

/** NOTE: not a public field of `node:net`; a contract test notices when it goes away. */
function descriptorOf(socket: Socket): number {
  const handle = (socket as unknown as { _handle?: { fd?: unknown } | null })._handle;
  const descriptor = handle?.fd;
  if (typeof descriptor !== "number" || !Number.isInteger(descriptor) || descriptor < 0) {
    throw new Error("Cannot tell who is at the other end of a unix socket: it has no descriptor");
  }
  return descriptor;
}
