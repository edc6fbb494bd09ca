/**
 * The dial-in listener. It refuses browsers before the upgrade, limits the number of unregistered
 * connections (`core/dial/unregistered.ts`), and closes all connections in order on shutdown.
 *
 * @module
 */

import { hostOfSession } from "core/dial/host_job.ts";
import { DIAL_SUBPROTOCOL } from "core/dial/frames.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { ListenAddress, Sockets, UpgradeAnswer } from "core/ports/sockets.ts";
import { browserSign } from "core/dial/browser.ts";
import { type ConnectionDeps, serveConnection } from "gateway/dial/connection.ts";
import { answerHost } from "gateway/dial/host_agents.ts";
import { closeAll, type SessionRegistry } from "core/dial/sessions.ts";
import type { Metrics } from "gateway/metrics.ts";
import { createUnregisteredConnections } from "core/dial/unregistered.ts";

/** The running listener. */
export interface DialListener {
  readonly address: ListenAddress;
  /**
   * Sends each agent a reconnect delay, then closes. Agents keep running and buffer their events.
   */
  close(reason: string): Promise<void>;
}

/** Starts the listener; rejects with `AddressFault` when the address is taken. */
export async function startDialListener(
  sockets: Sockets,
  at: ListenAddress,
  deps: ConnectionDeps & { readonly registry: SessionRegistry; readonly metrics: Metrics },
): Promise<DialListener> {
  const { metrics, log, registry, random } = deps;
  const room = createUnregisteredConnections((address) => {
    metrics.count("evicted");
    log.warning("dial-in connection makes room before it registered", { address });
  });
  metrics.gauge("unregistered", () => room.size());
  metrics.gauge(
    "agents",
    () => registry.all().filter(({ agent }) => hostOfSession(agent) === undefined).length,
  );

  const refuse = (status: number, reason: string, peer: string): UpgradeAnswer => {
    metrics.count("refused", { reason });
    log.warning("dial-in refused", { reason, peer });
    return { accept: false, response: new Response("refused\n", { status }) };
  };
  const listener = await sockets.serveFrames(at, {
    frameBytesMax: DIAL_LIMITS.unregisteredFrameBytesMax,
    upgrade: (request, peer) => {
      const sign = browserSign(request.headers, deps.isOwnName);
      if (sign !== undefined) return refuse(403, sign, peer);
      const offered = (request.headers.get("sec-websocket-protocol") ?? "").split(",")
        .map((name) => name.trim());
      const gateway = request.headers.get("host") ?? "";
      return {
        accept: true,
        ...(offered.includes(DIAL_SUBPROTOCOL) ? { protocol: DIAL_SUBPROTOCOL } : {}),
        onOpen: (connection) => {
          const onSettled = room.add(peer, () => connection.terminate());
          serveConnection(connection, { gateway, onSettled }, deps);
        },
      };
    },
    handler: (request, peer) => answerHost(request, peer, deps),
  });
  return {
    address: listener.address,
    close: async (reason) => {
      closeAll(registry, reason, random);
      await listener.close(1_000);
    },
  };
}
