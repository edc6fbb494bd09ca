/**
 * The port through which two programs of ours meet on a unix socket. No part of `Host`,
 * because one program needs it; the adapter is `teamchat/os/listen_unix.ts`. Types only.
 *
 * @module
 */

import type { ByteStream } from "core/ports/sockets.ts";

/**
 * Listens on a unix socket without asking who connects, which takes no call into the C library: the
 * folder and `mode` are the only guard. Rejects with `FileFault`.
 */
export type ListenUnix = (
  path: string,
  mode: number,
  onConnection: (stream: ByteStream) => void,
) => Promise<{ close(): Promise<void> }>;
