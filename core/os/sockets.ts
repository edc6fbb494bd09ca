/**
 * The `Sockets` port: one line per kind of listener. Each kind is loaded on first use, so that a
 * program that only prints its help does not load a WebSocket server.
 *
 * @module
 */

import type { Log } from "core/ports/log.ts";
import type { Processes } from "core/ports/processes.ts";
import type { Sockets } from "core/ports/sockets.ts";

/** Returns the machine's sockets. */
export function systemSockets(
  deps: { readonly processes: Processes; readonly log: Log },
): Sockets {
  return {
    serveHttp: async (at, handler) =>
      (await import("core/os/http_server.ts")).serveHttp(at, handler, deps),
    servePlain: async (at, handler) =>
      (await import("core/http1/os/plain_server.ts")).servePlain(at, handler, deps),
    serveFrames: async (at, options) =>
      (await import("core/os/websocket_server.ts")).serveFrames(at, options, deps),
    connectFrames: async (url, options) =>
      (await import("core/os/websocket.ts")).connectFrames(url, options),
    serveUnix: async (path, mode, onConnection) =>
      (await import("core/os/unix_socket.ts")).serveUnix(path, mode, {
        onConnection,
        log: deps.log,
      }),
    connectUnix: async (path) => (await import("core/os/connect_unix.ts")).connectUnix(path),
  };
}
