/**
 * The plain HTTP listener. A request with an upgrade is answered like any other. No routing and no
 * policy.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { Log } from "core/ports/log.ts";
import type { Processes } from "core/ports/processes.ts";
import type { ListenAddress, Listener } from "core/ports/sockets.ts";
import { printAddress } from "core/os/address.ts";
import { systemClock } from "core/os/clock.ts";
import {
  CLOSE_GRACE_MS,
  type HttpHandler,
  listenOn,
  nodeServer,
  type ServerTimes,
} from "core/os/node_server.ts";

/** Serves HTTP on one address; see `Sockets.serveHttp`. */
export async function serveHttp(
  at: ListenAddress,
  handler: HttpHandler,
  deps: { readonly processes: Processes; readonly log: Log; readonly times?: ServerTimes },
): Promise<Listener> {
  const { processes, log, times } = deps;
  const server = nodeServer({ authority: printAddress(at), handler, log, ...defined({ times }) });
  const address = await listenOn(server, at, processes);
  const close = async (graceMs: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = systemClock().after(graceMs, () => server.closeAllConnections());
    server.close(() => resolve());
    server.closeIdleConnections();
    await promise;
    cancel();
  };
  let closing: Promise<void> | undefined;
  return { address, close: (graceMs = CLOSE_GRACE_MS) => closing ??= close(graceMs) };
}
