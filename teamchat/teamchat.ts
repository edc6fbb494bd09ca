/**
 * Wires the team-chat gateway: store, connector, replies, agents, listeners. Takes ports, reads no
 * environment; `teamchat/main.ts` and the tests start it the same way.
 *
 * @module
 */

import { openKeyList } from "core/dial/key_list.ts";
import { watchKeys } from "core/dial/key_watch.ts";
import { createSessionRegistry, type SessionRegistry } from "core/dial/sessions.ts";
import { ownNames } from "core/host_name.ts";
import { CLOSE } from "core/dial/frames.ts";
import { NOT_AUTHORIZED } from "core/dial/server_session.ts";
import { DIAL_LIMITS, TEAMCHAT_LIMITS } from "core/limits.ts";
import type { PlainHandler } from "core/plain_http.ts";
import type { Host, ListenAddress, Listener } from "core/ports.ts";
import { createRecent } from "core/recent.ts";
import { isOneAddress } from "core/teamchat/halves.ts";
import type { RouteRules } from "core/teamchat/route.ts";
import type { ServiceHosts } from "core/teamchat/service_url.ts";
import { createAgents } from "teamchat/agents.ts";
import { createTeamchatApp, webHandler } from "teamchat/app.ts";
import type { TeamchatConfig } from "teamchat/config.ts";
import { followReceiver } from "teamchat/handover/follow.ts";
import { createDisowning, type Disowning } from "teamchat/disown.ts";
import { createFileMoves } from "teamchat/files/moves.ts";
import { healthOf } from "teamchat/health.ts";
import { type ConnectorTokens, createConnectorTokens } from "teamchat/inbound/connector_token.ts";
import { createKeySet, type KeySet } from "teamchat/inbound/key_set.ts";
import {
  createMessagesRoute,
  type TakeActivity,
  takeActivity,
  type TakeParts,
} from "teamchat/inbound/messages.ts";
import { createInboundEvents } from "teamchat/inbound/events.ts";
import { createMetrics, type Metrics } from "teamchat/metrics.ts";
import { lookForOwner, type Owners, watchOwners } from "teamchat/owners.ts";
import { createRegisterDoor, type RegisterDoor } from "teamchat/register/app.ts";
import { type AppTokens, createAppTokens } from "teamchat/reply/app_token.ts";
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

/** What the gateway gets besides its settings. */
export interface TeamchatOptions {
  readonly version: string;
  /** Names and addresses of this host. */
  readonly hostNames: readonly string[];
  /** Whether verified tokens are remembered; off to measure what that is worth. */
  readonly isTokenCached?: boolean;
}

/** The running gateway. */
export interface Teamchat {
  /** Undefined where a process of its own receives. */
  readonly messages: ListenAddress | undefined;
  readonly register: ListenAddress;
  readonly metrics: Metrics;
  /** Says good-bye to agents, waits for requests that are under way, then closes. */
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
  const { clock, random, sockets, log, store } = ports;
  const metrics = createMetrics();
  metrics.gauge("turns_open", () => store.turns.openCount());
  const platform = platformOf(config, { ...ports, metrics }, options);
  const connector = createConnector({
    ...{ ...ports, metrics, ...platform },
    sendsPerSecond: config.sendsPerSecond,
  });
  const registry = createSessionRegistry(clock);
  const owners = watchOwners({
    ...{ agents: config.agents, path: config.agentsFile, files: ports.files, clock, log },
    onChange: (bereft) => {
      disowning.run();
      for (const session of registry.all()) {
        // Who stays is whose agent it is by the registration that the gate let in before.
        if ([...bereft].some((agent) => agent === session.agent)) {
          log.warning("owner gone", { agent: session.agent, peer: session.peer });
          session.end(CLOSE.policyViolation, NOT_AUTHORIZED);
        }
      }
    },
  });
  const replies: Replies = createReplies({
    ...{ store, connector, metrics, clock, log },
    onStopped: (turn: Turn) => agents.cancel(turn),
    onDelivery: (turn: Turn, how: Closing) => agents.delivered(turn, how),
  });
  const agents = createAgents({
    ...{ store, registry, replies, metrics, clock, random, log },
    owners: owners.map,
    files: (hooks) =>
      createFileMoves({
        ...{ ...ports, metrics, connector, ...platform, origins: config.fileOrigins },
        folder: `${config.paths.role("teamchat")}/files`,
        gone: (owner, agent) => owners.gone(owner, agent),
      }, hooks),
  });
  const disowning = createDisowning({
    ...{ store, registry, replies, owners: owners.map, clock, log },
  });
  const keyList = openKeyList(ports.files, config.paths.dialKeys, clock);
  const isOwnName = ownNames([
    ...config.registerNames,
    config.registerListen.hostname,
    ...options.hostNames,
  ]);
  const door = createRegisterDoor({
    ...{ agents: owners.map, router: agents, metrics, clock, random, log, registry, isOwnName },
    version: options.version,
    ackedSeq: (agent, epoch) => store.turns.ackedSeq(agent, epoch),
    gate: {
      ...{ agents: owners.map, sharedToken: config.registerToken, isOwnName, clock },
      enrolled: (agent) => keyList.listed(agent),
      takeNonce: (nonce, until) => store.takeNonce(nonce, until),
    },
  });
  const stopWatch = watchKeys({
    keys: { enrolled: (agent) => keyList.listed(agent), generation: () => keyList.generation() },
    registry: { all: () => registry.all().filter(({ provenKey }) => provenKey !== undefined) },
    ...{ clock, log },
  });
  const inbound = inboundOf(
    config,
    { ...ports, metrics, agents, owners, disowning, replies, platform, registry },
    options,
  );
  // Owners may have changed while no gateway ran.
  disowning.run();
  for (const turn of store.turns.unanswered()) replies.finish(turn.turnId);
  agents.resume();
  void platform.keys?.refresh();
  const app = config.isReceiverApart ? undefined : inbound.app;
  const listeners = await listen(config, { app, door, sockets }).catch(async (thrown) => {
    await stop();
    throw thrown;
  });
  // After the listener: what is handed over now finds agents that can be reached.
  const following = config.isReceiverApart ? inbound.follow() : undefined;

  async function stop(): Promise<void> {
    owners.close();
    disowning.close();
    stopWatch();
    inbound.close();
    await agents.close();
    await replies.close();
  }
  return {
    messages: listeners.messages?.address,
    register: listeners.register.address,
    metrics,
    close: async (reason = "the gateway restarts") => {
      door.sayGoodbye(reason);
      await following?.close();
      await Promise.all([listeners.messages?.close(), listeners.register.close()]);
      await stop();
      store.close();
    },
  };
}

/** What depends on the mode: whom to believe, and as whom to answer. */
interface Platform {
  readonly hosts: ServiceHosts;
  readonly keys: KeySet | undefined;
  readonly connectorTokens: ConnectorTokens | undefined;
  readonly tokens: AppTokens | undefined;
}

function platformOf(
  config: TeamchatConfig,
  ports: TeamchatPorts & { readonly metrics: Metrics },
  options: TeamchatOptions,
): Platform {
  const { mode } = config;
  if (mode.kind === "local") {
    return {
      hosts: { mode: "local" },
      keys: undefined,
      connectorTokens: undefined,
      tokens: undefined,
    };
  }
  const { cloud, appId, secret, tenantId, audiences } = mode;
  const { http, clock, log, metrics } = ports;
  const keys = config.isReceiverApart
    ? undefined
    : createKeySet({ cloud, http, clock, log, metrics });
  return {
    hosts: { mode: "cloud", origins: cloud.serviceOrigins },
    keys,
    connectorTokens: keys === undefined ? undefined : createConnectorTokens({
      ...{ issuer: cloud.issuer, audiences, keys, clock, metrics },
      isCached: options.isTokenCached ?? true,
    }),
    tokens: createAppTokens({ cloud, appId, secret, tenantId, http, clock, log, metrics }),
  };
}

/** The way in: an application to listen with, or a receiving half to follow. */
interface Inbound {
  readonly app: PlainHandler;
  readonly follow: () => { close(): Promise<void> };
  readonly close: () => void;
}

function inboundOf(
  config: TeamchatConfig,
  parts: Served & {
    readonly metrics: Metrics;
    readonly agents: ReturnType<typeof createAgents>;
    readonly owners: Owners;
    readonly disowning: Disowning;
    readonly replies: Replies;
    readonly platform: Platform;
    readonly registry: SessionRegistry;
  },
  options: TeamchatOptions,
): Inbound {
  const { store, metrics, clock, random, log, platform, agents, replies, registry, owners } = parts;
  const { mode } = config;
  const rules: RouteRules = {
    agents: owners.map,
    tenantId: mode.kind === "cloud" ? mode.tenantId : undefined,
    hosts: platform.hosts,
    conversations: config.conversations,
    appId: mode.kind === "cloud" ? mode.appId : undefined,
  };
  let slowestMs = 0;
  let lastInbound: number | undefined;
  metrics.gauge("accept_seconds_max", () => {
    const slowest = slowestMs / 1000;
    slowestMs = 0;
    return slowest;
  });
  const taking: TakeParts = {
    ...{ rules, intake: store.intake, offlineMs: config.offlineMs, metrics, clock, random, log },
    events: createInboundEvents({
      ...{ agents, replies, clock },
      strangers: createRecent<true>(TEAMCHAT_LIMITS.strangersKept),
    }),
  };
  const take: TakeActivity = async (activity, arrival) => {
    await lookForOwner(activity, owners);
    return await takeActivity(activity, arrival, taking);
  };
  const messages = createMessagesRoute({
    ...{ tokens: platform.connectorTokens, take, metrics, clock, log },
    onStored: (tookMs) => {
      slowestMs = Math.max(slowestMs, tookMs);
      lastInbound = clock.now();
    },
  });
  const health = () =>
    healthOf({
      mode: mode.kind,
      version: options.version,
      owners: owners.map,
      isOwnersWatched: config.agentsFile !== undefined,
      isOwnersDamaged: owners.isDamaged(),
      isDisowningBehind: parts.disowning.isBehind(),
      agentsConnected: registry.all().length,
      turnsOpen: store.turns.openCount(),
      keysAgeMs: config.isReceiverApart ? "elsewhere" : platform.keys?.ageMs(),
      tokenFault: platform.tokens?.fault(),
      secretEnds: config.secretEnds,
      lastInbound,
      now: clock.now(),
    });
  return {
    app: createTeamchatApp({
      ...{ messages, isLocal: mode.kind === "local", metrics, random, health },
    }),
    follow: () =>
      followReceiver({
        ...{ path: config.paths.teamchatHandover, sockets: parts.sockets },
        ...{ take, health, metrics: () => metrics.render(), clock, log },
      }),
    close: every({ clock, log }, TEAMCHAT_LIMITS.sweepMs, () => store.intake.sweep(clock.now())),
  };
}

/**
 * One listener where the two addresses cannot be told apart, two elsewhere; that of agents alone
 * where there is no application.
 */
async function listen(
  config: TeamchatConfig,
  parts: {
    readonly app: PlainHandler | undefined;
    readonly door: RegisterDoor;
    readonly sockets: TeamchatPorts["sockets"];
  },
): Promise<{ readonly messages: Listener | undefined; readonly register: Listener }> {
  const { app, door, sockets } = parts;
  const frameBytesMax = DIAL_LIMITS.unregisteredFrameBytesMax;
  const upgrade: RegisterDoor["upgrade"] = (request, peer) => door.upgrade(request, peer);
  const registerOnly = () =>
    sockets.serveFrames(config.registerListen, {
      ...{ frameBytesMax, upgrade },
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
