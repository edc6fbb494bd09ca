/**
 * The port for a unix socket between two of the project's own programs. Not part of `Host`,
 * because only one program needs it; the adapter is `teamchat/os/listen_unix.ts`. Types only.
 *
 * @module
 */

import type { ByteStream } from "core/ports/sockets.ts";

/**
 * Listens on a unix socket without peer credentials, which needs no call into the C library. The
 * folder and `mode` are the only protection. Rejects with `FileFault`.
 */
export type ListenUnix = (
  path: string,
  mode: number,
  onConnection: (stream: ByteStream) => void,
) => Promise<{ close(): Promise<void> }>;
