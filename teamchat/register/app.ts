/**
 * The listener of `/register`: it accepts agents and refuses browsers and proxied requests. It has
 * its own private address, or shares one address with `/api/messages`.
 *
 * @module
 */

import { browserSign } from "core/dial/browser.ts";
import { closeAll, type SessionRegistry } from "core/dial/sessions.ts";
import { createUnregisteredConnections } from "core/dial/unregistered.ts";
import type { HeaderReader } from "core/http1/header_list.ts";
import type { IsOwnName } from "core/net/host_name.ts";
import { isPrivate, parsePeer } from "core/net/ip.ts";
import type { Log } from "core/ports/log.ts";
import type { UpgradeAnswer } from "core/ports/sockets.ts";
import { refusalText } from "core/teamchat/refused_registration.ts";
import type { Metrics } from "teamchat/metrics.ts";
import { type AgentConnectionDeps, serveAgent } from "teamchat/register/connection.ts";
import { judgeRegistration, type RegistrationDeps } from "teamchat/register/check_registration.ts";

/** Handles upgrades. */
export interface RegisterEndpoint {
  upgrade(request: Request, peer: string): Promise<UpgradeAnswer>;
  /** Sends each agent a reconnect delay. */
  sayGoodbye(reason: string): void;
}

/** Dependencies of the endpoint. */
export interface RegisterDeps extends AgentConnectionDeps {
  readonly gate: RegistrationDeps;
  readonly registry: SessionRegistry;
  readonly metrics: Metrics;
  readonly isOwnName: IsOwnName;
}

/** Path of the route. */
const REGISTER_PATH = "/register";

/** Creates the endpoint. */
export function createRegisterEndpoint(deps: RegisterDeps): RegisterEndpoint {
  const { metrics, log, registry, random } = deps;
  const room = createUnregisteredConnections((address) => {
    metrics.count("evicted");
    log.warning("connection makes room before it registered", { address });
  });
  metrics.gauge("unregistered", () => room.size());
  metrics.gauge("agents", () => registry.all().length);

  return {
    upgrade: async (request, peer) => {
      const sign = refusalReason(request, peer, deps.isOwnName);
      if (sign !== undefined) return refuse(sign, { metrics, log, peer });
      const pass = await judgeRegistration(request.headers.get("authorization"), deps.gate);
      if (!pass.ok) {
        metrics.count("registers", { result: "rejected", reason: pass.why });
        log.warning("register rejected", { agent: pass.agent, reason: pass.why, peer });
        return { accept: false, response: new Response(refusalText(pass.why), { status: 401 }) };
      }
      return {
        accept: true,
        onOpen: (connection) => {
          const onSettled = room.add(peer, () => connection.terminate());
          serveAgent(connection, { pass: pass.value, onSettled }, deps);
        },
      };
    },
    sayGoodbye: (reason) => closeAll(registry, reason, random),
  };
}

/** Headers that a proxy adds; a proxied request comes from outside. */
const PROXY_HEADERS = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];

/** Reports whether a request came through a proxy. */
export function isProxied(headers: HeaderReader): boolean {
  return PROXY_HEADERS.some((name) => headers.has(name));
}

/** Returns why an upgrade is not allowed here. */
function refusalReason(request: Request, peer: string, isOwnName: IsOwnName): string | undefined {
  if (new URL(request.url).pathname !== REGISTER_PATH) return "other-path";
  if (isProxied(request.headers)) return "proxied";
  const address = parsePeer(peer);
  if (address === undefined || !isPrivate(address)) return "public-address";
  return browserSign(request.headers, isOwnName);
}

function refuse(
  reason: string,
  { metrics, log, peer }: { readonly metrics: Metrics; readonly log: Log; readonly peer: string },
): UpgradeAnswer {
  metrics.count("refused", { reason });
  log.warning("upgrade refused", { reason, peer });
  // The same response as for an unknown path, so that outsiders do not see the endpoint.
  return { accept: false, response: new Response("not found\n", { status: 404 }) };
}
