/**
 * The port for a unix socket between two of the project's own programs. Not part of `Host`,
 * because only one program needs it; the adapter is `teamchat/os/listen_unix.ts`. Types only.
 *
 * @module
 */

import type { ByteStream } from "core/ports/sockets.ts";

/**
 * Listens on a unix socket. It does not read peer credentials, because that needs a call into the C
 * library. So only the folder and `mode` protect the socket. Rejects with `FileFault`.
 */
export type ListenUnix = (
  path: string,
  mode: number,
  onConnection: (stream: ByteStream) => void,
) => Promise<{ close(): Promise<void> }>;
