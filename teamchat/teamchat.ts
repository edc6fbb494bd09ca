/**
 * Wires the team-chat gateway: store, connector, replies, agents, listeners. Receives its ports
 * and reads no environment, so `teamchat/main.ts` and the tests start it identically.
 *
 * @module
 */

import { openKeyList } from "core/dial/key_list.ts";
import { watchKeys } from "core/dial/key_watch.ts";
import { createSessionRegistry, type SessionRegistry } from "core/dial/sessions.ts";
import { ownNames } from "core/net/host_name.ts";
import { CLOSE } from "core/dial/frames.ts";
import { NOT_AUTHORIZED } from "core/dial/server_session.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { PlainHandler } from "core/http1/plain_http.ts";
import type { Host } from "core/ports/host.ts";
import type { Log } from "core/ports/log.ts";
import type { ListenAddress, Listener } from "core/ports/sockets.ts";
import { createTtlCache } from "core/ttl_cache.ts";
import { isOneAddress } from "core/teamchat/separate_receiver.ts";
import type { RouteRules } from "core/teamchat/route.ts";
import { createAgents } from "teamchat/agents.ts";
import { createTeamchatApp, webHandler } from "teamchat/app.ts";
import type { TeamchatConfig } from "teamchat/config.ts";
import { followReceiver } from "teamchat/handover/follow.ts";
import { createFormerOwnerCleanup, type FormerOwnerCleanup } from "teamchat/former_owners.ts";
import { createFileMoves } from "teamchat/files/moves.ts";
import { healthOf } from "teamchat/health.ts";
import {
  createMessagesRoute,
  type TakeActivity,
  takeActivity,
  type TakeDeps,
} from "teamchat/inbound/messages.ts";
import { createInboundEvents } from "teamchat/inbound/events.ts";
import { createMetrics, type Metrics } from "teamchat/metrics.ts";
import { type Owners, refreshForOwner, watchOwners } from "teamchat/owners.ts";
import { type Platform, platformOf } from "teamchat/platform.ts";
import { createRegisterEndpoint, type RegisterEndpoint } from "teamchat/register/app.ts";
import { createConnector } from "teamchat/reply/connector.ts";
import { createReplies, type Replies } from "teamchat/reply/replies.ts";
import { openTeamchatStore, type TeamchatStore } from "teamchat/store/store.ts";
import type { Turn } from "teamchat/store/turn.ts";
import type { Closing } from "teamchat/store/turns.ts";
import { every } from "teamchat/timers.ts";

/** Ports of the gateway. */
export type TeamchatPorts = Pick<
  Host,
  "clock" | "random" | "files" | "sockets" | "databases" | "http" | "log"
>;

/** Options of the gateway besides its settings. */
export interface TeamchatOptions {
  readonly version: string;
  /** Names and addresses of this host. */
  readonly hostNames: readonly string[];
  /** Whether verified tokens are cached; false to measure the benefit of the cache. */
  readonly isTokenCached?: boolean;
}

/** The running gateway. */
export interface Teamchat {
  /** Where messages arrive; undefined where a separate process receives them. */
  readonly messages: ListenAddress | undefined;
  readonly register: ListenAddress;
  readonly metrics: Metrics;
  /** Sends agents `reason`, waits for requests in flight, then closes. */
  close(reason?: string): Promise<void>;
}

/** Starts the gateway; rejects with `FileFault` or `AddressFault`. */
export async function startTeamchat(
  config: TeamchatConfig,
  ports: TeamchatPorts,
  options: TeamchatOptions,
): Promise<Teamchat> {
  const { files, databases, clock, log } = ports;
  const folder = config.paths.role("teamchat");
  await files.ensureDir(folder, { mode: 0o700 });
  const store = await openTeamchatStore(databases, `${folder}/teamchat.db`, clock, log);
  try {
    return await serve(config, { ...ports, store }, options);
  } catch (thrown) {
    store.close();
    throw thrown;
  }
}

type Served = TeamchatPorts & { readonly store: TeamchatStore };

async function serve(
  config: TeamchatConfig,
  ports: Served,
  options: TeamchatOptions,
): Promise<Teamchat> {
  const { sockets, store } = ports;
  const metrics = createMetrics();
  metrics.gauge("turns_open", () => store.turns.openCount());
  const platform = platformOf(config, { ...ports, metrics }, options);
  const services = createTurnServices(config, { ...ports, metrics, platform });
  const { agents, replies, owners, formerOwners } = services;
  const { endpoint, stopWatch } = registerEndpointOf(
    config,
    { ...ports, ...services },
    options,
  );
  const inbound = inboundOf(config, { ...ports, ...services }, options);
  // Owners may have changed while the gateway was not running.
  formerOwners.run();
  for (const turn of store.turns.unanswered()) replies.finish(turn.turnId);
  agents.resume();
  void platform.keys?.refresh();
  const stop = async () => {
    owners.close();
    formerOwners.close();
    stopWatch();
    inbound.close();
    await agents.close();
    await replies.close();
  };
  const app = config.isReceiverSeparate ? undefined : inbound.app;
  const listeners = await listen(config, { app, endpoint, sockets }).catch(async (thrown) => {
    await stop();
    throw thrown;
  });
  // After the listener is open, so that agents can connect while activities are handed over.
  const following = config.isReceiverSeparate ? inbound.follow() : undefined;
  return {
    messages: listeners.messages?.address,
    register: listeners.register.address,
    metrics,
    close: async (reason = "the gateway restarts") => {
      endpoint.sayGoodbye(reason);
      await following?.close();
      await Promise.all([listeners.messages?.close(), listeners.register.close()]);
      await stop();
      store.close();
    },
  };
}

/** The services that move turns between owners and agents. */
interface TurnServices {
  readonly metrics: Metrics;
  readonly platform: Platform;
  readonly registry: SessionRegistry;
  readonly owners: Owners;
  readonly replies: Replies;
  readonly agents: ReturnType<typeof createAgents>;
  readonly formerOwners: FormerOwnerCleanup;
}

function createTurnServices(
  config: TeamchatConfig,
  ports: Served & Pick<TurnServices, "metrics" | "platform">,
): TurnServices {
  const { clock, metrics, platform } = ports;
  const connector = createConnector({
    ...ports,
    ...platform,
    sendsPerSecond: config.sendsPerSecond,
  });
  const registry = createSessionRegistry(clock);
  const owners = watchOwners({
    ...ports,
    agents: config.agents,
    path: config.agentsFile,
    onChange: (orphaned) => {
      formerOwners.run();
      endSessions(registry, orphaned, ports.log);
    },
  });
  const replies: Replies = createReplies({
    ...ports,
    connector,
    onStopped: (turn: Turn) => agents.cancel(turn),
    onDelivery: (turn: Turn, how: Closing) => agents.delivered(turn, how),
  });
  const agents = createAgents({
    ...ports,
    registry,
    replies,
    owners: owners.map,
    files: (hooks) =>
      createFileMoves({
        ...ports,
        connector,
        ...platform,
        origins: config.fileOrigins,
        folder: `${config.paths.role("teamchat")}/files`,
        gone: (owner, agent) => owners.gone(owner, agent),
      }, hooks),
  });
  const formerOwners = createFormerOwnerCleanup({
    ...ports,
    registry,
    replies,
    owners: owners.map,
  });
  return { metrics, platform, registry, owners, replies, agents, formerOwners };
}

/**
 * Ends sessions of agents that lost an owner. Their registration was checked against the old
 * owners, so they must register again.
 */
function endSessions(registry: SessionRegistry, orphaned: ReadonlySet<string>, log: Log): void {
  for (const session of registry.all()) {
    if (!orphaned.has(session.agent)) continue;
    log.warning("owner gone", { agent: session.agent, peer: session.peer });
    session.end(CLOSE.policyViolation, NOT_AUTHORIZED);
  }
}

/** The endpoint where agents register, and the watch over their keys. */
function registerEndpointOf(
  config: TeamchatConfig,
  deps: Served & TurnServices,
  { version, hostNames }: TeamchatOptions,
): { readonly endpoint: RegisterEndpoint; readonly stopWatch: () => void } {
  const { files, clock, log, store, registry, owners } = deps;
  const keyList = openKeyList(files, config.paths.dialKeys, clock);
  const { registerNames, registerListen } = config;
  const isOwnName = ownNames([...registerNames, registerListen.hostname, ...hostNames]);
  const enrolled = (agent: string) => keyList.listed(agent);
  const endpoint = createRegisterEndpoint({
    ...deps,
    agents: owners.map,
    router: deps.agents,
    isOwnName,
    version,
    ackedSeq: (agent, epoch) => store.turns.ackedSeq(agent, epoch),
    gate: {
      agents: owners.map,
      sharedToken: config.registerToken,
      isOwnName,
      clock,
      enrolled,
      takeNonce: (nonce, until) => store.takeNonce(nonce, until),
    },
  });
  const stopWatch = watchKeys({
    keys: { enrolled, generation: () => keyList.generation() },
    registry: { all: () => registry.all().filter(({ provenKey }) => provenKey !== undefined) },
    clock,
    log,
  });
  return { endpoint, stopWatch };
}

/** The inbound side: an application for this process to serve, or a receiver to fetch from. */
interface Inbound {
  readonly app: PlainHandler;
  readonly follow: () => { close(): Promise<void> };
  readonly close: () => void;
}

function inboundOf(
  config: TeamchatConfig,
  deps: Served & TurnServices,
  { version }: TeamchatOptions,
): Inbound {
  const { sockets, store, metrics, clock, random, log, platform, owners } = deps;
  const { mode } = config;
  let slowestMs = 0;
  let lastInbound: number | undefined;
  metrics.gauge("accept_seconds_max", () => {
    const slowest = slowestMs / 1000;
    slowestMs = 0;
    return slowest;
  });
  const taking = takeDepsOf(config, deps);
  const take: TakeActivity = async (activity, arrival) => {
    await refreshForOwner(activity, owners);
    return await takeActivity(activity, arrival, taking);
  };
  const messages = createMessagesRoute({
    tokens: platform.connectorTokens,
    take,
    metrics,
    clock,
    log,
    onStored: (tookMs) => {
      slowestMs = Math.max(slowestMs, tookMs);
      lastInbound = clock.now();
    },
  });
  const health = () => healthOf({ ...stateOf(config, deps), version, lastInbound });
  return {
    app: createTeamchatApp({ messages, isLocal: mode.kind === "local", metrics, random, health }),
    follow: () =>
      followReceiver({
        path: config.paths.teamchatHandover,
        sockets,
        take,
        health,
        metrics: () => metrics.render(),
        clock,
        log,
      }),
    close: every({ clock, log }, TEAMCHAT_LIMITS.sweepMs, () => store.intake.sweep(clock.now())),
  };
}

/** Dependencies for routing and storing an activity. */
function takeDepsOf(
  { mode, conversations, offlineMs }: TeamchatConfig,
  { store, metrics, clock, random, log, platform, owners, agents, replies }: Served & TurnServices,
): TakeDeps {
  const isCloud = mode.kind === "cloud";
  const rules: RouteRules = {
    agents: owners.map,
    tenantId: isCloud ? mode.tenantId : undefined,
    hosts: platform.hosts,
    conversations,
    appId: isCloud ? mode.appId : undefined,
  };
  const strangers = createTtlCache<true>(TEAMCHAT_LIMITS.strangersKept);
  return {
    rules,
    intake: store.intake,
    offlineMs,
    metrics,
    clock,
    random,
    log,
    events: createInboundEvents({ agents, replies, clock, strangers }),
  };
}

/** Current facts for the health report. */
function stateOf(
  config: TeamchatConfig,
  { store, clock, platform, owners, formerOwners, registry }: Served & TurnServices,
) {
  return {
    mode: config.mode.kind,
    owners: owners.map,
    isOwnersWatched: config.agentsFile !== undefined,
    isOwnersDamaged: owners.isDamaged(),
    isFormerOwnerCleanupBehind: formerOwners.isBehind(),
    agentsConnected: registry.all().length,
    turnsOpen: store.turns.openCount(),
    keysAgeMs: config.isReceiverSeparate ? "elsewhere" as const : platform.keys?.ageMs(),
    tokenFault: platform.tokens?.fault(),
    secretEnds: config.secretEnds,
    now: clock.now(),
  };
}

/**
 * Without an application, opens only the listener for agents. Otherwise opens one listener if both
 * addresses are the same, else two.
 */
async function listen(
  config: TeamchatConfig,
  deps: {
    readonly app: PlainHandler | undefined;
    readonly endpoint: RegisterEndpoint;
    readonly sockets: TeamchatPorts["sockets"];
  },
): Promise<{ readonly messages: Listener | undefined; readonly register: Listener }> {
  const { app, endpoint, sockets } = deps;
  const frameBytesMax = DIAL_LIMITS.unregisteredFrameBytesMax;
  const upgrade: RegisterEndpoint["upgrade"] = (request, peer) => endpoint.upgrade(request, peer);
  const registerOnly = () =>
    sockets.serveFrames(config.registerListen, {
      frameBytesMax,
      upgrade,
      handler: () => new Response("not found\n", { status: 404 }),
    });
  if (app === undefined) return { messages: undefined, register: await registerOnly() };
  if (isOneAddress(config.listen, config.registerListen)) {
    const handler = webHandler(app);
    const both = await sockets.serveFrames(config.listen, { frameBytesMax, upgrade, handler });
    return { messages: both, register: both };
  }
  const messages = await sockets.servePlain(config.listen, app);
  try {
    return { messages, register: await registerOnly() };
  } catch (thrown) {
    await messages.close();
    throw thrown;
  }
}
