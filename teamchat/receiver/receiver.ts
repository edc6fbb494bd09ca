/**
 * Wires the gateway's receiver: the public listener, the token check, the spool, and the socket
 * that the sender connects to. It has no client secret, connects only to fetch the connector's
 * keys, and cannot reach an agent. Receives its ports and reads no environment. Why two processes:
 * ADR 0015.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { PlainAnswer } from "core/http1/plain_http.ts";
import type { Host } from "core/ports/host.ts";
import type { ListenAddress } from "core/ports/sockets.ts";
import { decideRoute, type RouteRules } from "core/teamchat/route.ts";
import { timeUuid } from "teamchat/time_uuid.ts";
import type { ListenUnix } from "teamchat/receiver/unix_port.ts";
import { createTeamchatApp } from "teamchat/app.ts";
import { deny } from "teamchat/deny.ts";
import { joinHealth } from "teamchat/health.ts";
import { createConnectorTokens } from "teamchat/inbound/connector_token.ts";
import { createKeySet } from "teamchat/inbound/key_set.ts";
import {
  accepted,
  countedType,
  createMessagesRoute,
  declineRoute,
  retryAfter,
  type TakeActivity,
} from "teamchat/inbound/messages.ts";
import { createMetrics, type Metrics } from "teamchat/metrics.ts";
import { type Owners, refreshForOwner, watchOwners } from "teamchat/owners.ts";
import type { ReceiverConfig } from "teamchat/receiver/config.ts";
import { createSenderLink, type SenderLink } from "teamchat/receiver/link.ts";
import { openSpool, type Spool } from "teamchat/receiver/spool.ts";

/** Ports of the receiver. */
export type ReceiverPorts =
  & Pick<Host, "clock" | "random" | "files" | "sockets" | "databases" | "http" | "log">
  & { readonly listenUnix: ListenUnix };

/** The running receiver. */
export interface Receiver {
  readonly messages: ListenAddress;
  readonly metrics: Metrics;
  /** Waits for requests in flight, then closes. */
  close(): Promise<void>;
}

/** Only the sender's group may connect: a connected program gets and answers all requests. */
const SOCKET_MODE = 0o660;
/** The group can reach the socket but not list the folder; other users have no access. */
const FOLDER_MODE = 0o710;
const STATE_MS_MAX = 2_000;

/** Starts it; rejects with `FileFault` or `AddressFault`. */
export async function startReceiver(
  config: ReceiverConfig,
  ports: ReceiverPorts,
  version: string,
): Promise<Receiver> {
  const { files, databases, sockets, log, listenUnix } = ports;
  const folder = config.paths.role("teamchat-receiver");
  await files.ensureDir(folder, { mode: FOLDER_MODE });
  const spool = await openSpool(databases, config.paths.teamchatSpool, ports);
  const link = createSenderLink({ spool, ...ports });
  const closing: (() => unknown)[] = [
    () => link.close(),
    () => spool.close(),
    // Remove an empty spool: an existing file shows that items are left, which no single-process
    // gateway would read.
    () => spool.size() === 0 ? files.remove(config.paths.teamchatSpool) : undefined,
  ];
  const close = async () => {
    for (const step of closing) await step();
  };
  try {
    const listener = await listenUnix(
      config.paths.teamchatHandover,
      SOCKET_MODE,
      (stream) => link.attach(stream),
    );
    closing.unshift(() => listener.close());
    const owners = watchOwners({ agents: config.agents, path: config.agentsFile, ...ports });
    closing.unshift(() => owners.close());
    const metrics = createMetrics("fleetctl_teamchat_receiver");
    metrics.gauge("spooled", () => spool.size());
    const app = appOf(config, { ...ports, metrics, spool, link, owners }, version);
    const messages = await sockets.servePlain(config.listen, app);
    // Hand acknowledged items over while both processes run: this one may not be started again.
    closing.unshift(() => messages.close(), () => link.drain(TEAMCHAT_LIMITS.drainMs));
    log.debug("spool opened", { waiting: spool.size() });
    return { messages: messages.address, metrics, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

interface ReceiverDeps extends ReceiverPorts {
  readonly metrics: Metrics;
  readonly spool: Spool;
  readonly link: SenderLink;
  readonly owners: Owners;
}

function appOf(config: ReceiverConfig, deps: ReceiverDeps, version: string) {
  const { clock, random, http, log, metrics, spool, link, owners } = deps;
  const { cloud } = config;
  const keys = cloud === undefined
    ? undefined
    : createKeySet({ cloud: cloud.cloud, http, clock, log, metrics });
  void keys?.refresh();
  const tokens = cloud === undefined || keys === undefined ? undefined : createConnectorTokens({
    issuer: cloud.cloud.issuer,
    audiences: cloud.audiences,
    keys,
    clock,
    metrics,
    isCached: true,
  });
  let slowestMs = 0;
  let lastInbound: number | undefined;
  metrics.gauge("accept_seconds_max", () => {
    const slowest = slowestMs / 1000;
    slowestMs = 0;
    return slowest;
  });
  const messages = createMessagesRoute({
    tokens,
    metrics,
    clock,
    log,
    take: takerOf(config, deps),
    onStored: (tookMs) => {
      slowestMs = Math.max(slowestMs, tookMs);
      lastInbound = clock.now();
    },
  });
  const stateOf = async () => {
    const answer = await link.ask({ type: "state" }, STATE_MS_MAX);
    return answer?.type === "state" ? answer : undefined;
  };
  return createTeamchatApp({
    messages,
    isLocal: cloud === undefined,
    random,
    metrics: { render: async () => metrics.render() + ((await stateOf())?.metrics ?? "") },
    health: async () =>
      joinHealth({
        mode: cloud === undefined ? "local" : "cloud",
        version,
        keysAgeMs: keys?.ageMs(),
        lastInbound,
        spooled: spool.size(),
        isOwnersDamaged: owners.isDamaged(),
        now: clock.now(),
      }, (await stateOf())?.health),
  });
}

function takerOf(config: ReceiverConfig, deps: ReceiverDeps): TakeActivity {
  const { clock, random, log, metrics, spool, link, owners } = deps;
  const { cloud } = config;
  const rules: RouteRules = {
    agents: owners.map,
    tenantId: cloud?.tenantId,
    hosts: cloud === undefined
      ? { mode: "local" }
      : { mode: "cloud", origins: cloud.cloud.serviceOrigins },
    conversations: config.conversations,
    appId: cloud?.appId,
  };
  return async (activity, { token, id, body }) => {
    await refreshForOwner(activity, owners);
    const received = clock.now();
    const key = timeUuid(random.uuid(), received);
    const question = { type: "activity", body, received, key } as const;
    const route = decideRoute(activity, rules, token);
    if (route.kind !== "route") {
      return declineRoute(activity, route, {
        metrics,
        log,
        id,
        // Losing this is harmless: it only notifies a person who is not an owner.
        onStranger: () => void link.ask(question, TEAMCHAT_LIMITS.invokeMs),
      });
    }
    const count = (result: string) =>
      metrics.count("activities", { type: countedType(activity.type), result });
    if (activity.type === "invoke") {
      const answer = await link.ask(question, TEAMCHAT_LIMITS.invokeMs);
      if (answer?.type !== "taken") {
        count("sender-away");
        return deny("storage-failed", retryAfter());
      }
      count("invoke");
      return invokeAnswer(answer);
    }
    const stored = await spool.store({ ...question, agent: route.agent });
    if (!stored.ok) {
      count(stored.error.code);
      log.error("activity not stored", { request_id: id, code: stored.error.code });
      const code = stored.error.code === "turn-queue-full" ? "turn-queue-full" : "storage-failed";
      return deny(code, retryAfter());
    }
    count("spooled");
    link.offer(stored.value);
    return accepted();
  };
}

function invokeAnswer(answer: { readonly status: number; readonly body: string }): PlainAnswer {
  const { status, body } = answer;
  if (!(status >= 200 && status <= 599)) return deny("storage-failed", retryAfter());
  if (status === 202 || body === "") return { status, headers: [], body: null };
  const type = status < 400 ? "application/json" : "application/problem+json";
  const again = status === 429 || status === 503 ? retryAfter() : [];
  return { status, headers: [["content-type", type], ...again], body };
}
