/**
 * Wires the gateway: store, router, dial-in listener, cockpit. Receives its ports and reads no
 * environment, so `gateway/main.ts` and the tests start it identically.
 *
 * @module
 */

import type { Host } from "core/ports/host.ts";
import type { ListenAddress } from "core/ports/sockets.ts";
import { createCockpit } from "gateway/cockpit/app.ts";
import { createStreamSet } from "gateway/cockpit/streams.ts";
import { openWebFiles } from "gateway/cockpit/web_files.ts";
import { ROUTES } from "gateway/cockpit/table.ts";
import { createModelEndpoint } from "gateway/cockpit/model_endpoint.ts";
import type { GatewayConfig } from "gateway/config.ts";
import type { VerbRunner } from "gateway/daemon_verbs.ts";
import { startDialListener } from "gateway/dial/app.ts";
import { type EnrollKey, startKeyForwarder } from "gateway/dial/key_forwarder.ts";
import { openKeyList } from "core/dial/key_list.ts";
import { watchKeys } from "core/dial/key_watch.ts";
import { openDialKeys } from "gateway/dial/keys.ts";
import { createMessages } from "gateway/dial/messages.ts";
import { ownNames } from "core/net/host_name.ts";
import { createSessionRegistry } from "core/dial/sessions.ts";
import { createHostRegistry } from "gateway/hosts/host_registry.ts";
import { createRouter } from "gateway/dial/router.ts";
import { openRoster } from "gateway/live_roster.ts";
import { applyRoster } from "gateway/roster_effects.ts";
import { createMetrics, type Metrics } from "gateway/metrics.ts";
import { createHub } from "gateway/transcript/hub.ts";
import { openGatewayStore } from "gateway/transcript/store.ts";
import { startSweep } from "gateway/transcript/sweep.ts";

/** Ports of the gateway. */
export type GatewayPorts = Pick<
  Host,
  "clock" | "random" | "files" | "sockets" | "databases" | "log"
>;

/** Options of the gateway besides its settings. */
export interface GatewayOptions {
  readonly version: string;
  /** Names and addresses of this host. */
  readonly hostNames: readonly string[];
  /** Enrolls first keys in the ledger. Without it, they are valid at this gateway only. */
  readonly forwardKey?: EnrollKey;
  /** Runs the verbs that owners request. Without it, those requests are refused. */
  readonly verbs?: VerbRunner;
}

/** The running gateway. */
export interface Gateway {
  readonly cockpit: ListenAddress;
  readonly dial: ListenAddress;
  readonly metrics: Metrics;
  /** Notifies agents and pages, then closes. */
  close(reason?: string): Promise<void>;
}

/** Starts the gateway; rejects with `FileFault` or `AddressFault`. */
export async function startGateway(
  config: GatewayConfig,
  ports: GatewayPorts,
  options: GatewayOptions,
): Promise<Gateway> {
  const deps = await openShared(config, ports);
  const { store, streams, router, metrics } = deps;
  const work = startWork(config, { ...ports, ...deps }, options);
  try {
    const { dial, cockpit } = await listen(config, { ...ports, ...deps, ...work }, options);
    return {
      cockpit: cockpit.address,
      dial: dial.address,
      metrics,
      close: async (reason = "the gateway restarts") => {
        streams.endAll();
        await Promise.all([dial.close(reason), cockpit.close(), work.stop()]);
        await router.settled();
        store.close();
      },
    };
  } catch (thrown) {
    await work.stop();
    store.close();
    throw thrown;
  }
}

type Shared = Awaited<ReturnType<typeof openShared>>;
type Work = ReturnType<typeof startWork>;

/** Opens the dependencies that both listeners share. */
async function openShared(config: GatewayConfig, ports: GatewayPorts) {
  const { paths, agentBytesMax } = config;
  const { clock, random, files, databases, log } = ports;
  const folder = paths.role("gateway");
  await files.ensureDir(folder, { mode: 0o700 });
  const database = `${folder}/gateway.db`;
  const store = await openGatewayStore(databases, database, random.uuid(), agentBytesMax);
  const metrics = createMetrics();
  metrics.gauge("fullest_share", () => store.usage.fullest());
  const hub = createHub();
  const registry = createSessionRegistry(clock);
  const { hasRoom } = store.events;
  const streams = createStreamSet(metrics);
  const roster = openRoster({
    roster: config.roster,
    path: config.rosterFile,
    files,
    clock,
    log,
    onChange: (change) => applyRoster(change, { registry, streams, hub, log }),
  });
  metrics.gauge("roster_damaged", () => roster.isDamaged() ? 1 : 0);
  const messages = createMessages({ roster, turns: store.turns, hasRoom, clock, random });
  const router = createRouter({ store, hub, registry, metrics, clock, log }, messages);
  const web = await openWebFiles(files, paths.web);
  return { store, metrics, hub, registry, router, roster, streams, web };
}

/** Starts the background work: key changes, new keys, and deletion of old events. */
function startWork(
  { paths, eventsDays }: GatewayConfig,
  { files, clock, random, log, store, registry, router, roster, hub }: GatewayPorts & Shared,
  { forwardKey: forward }: GatewayOptions,
) {
  const keys = openDialKeys({
    files,
    path: paths.dialKeys,
    pending: store.keys,
    clock,
    log,
    onPending: () => forwarder?.wake(),
  });
  const listed = openKeyList(files, paths.dialKeys, clock);
  const hosts = createHostRegistry({
    registry,
    agents: router,
    hub,
    clock,
    random,
    log,
    keys: listed,
  });
  const forwarder = forward && startKeyForwarder({ keys, forward, clock, log });
  const stopWatch = watchKeys({ keys, registry, clock, log });
  const { retention } = store;
  const stopSweep = eventsDays === undefined
    ? () => {}
    : startSweep({ retention, days: eventsDays, clock, log });
  return {
    keys,
    hosts,
    stop: async () => {
      roster.close();
      stopWatch();
      stopSweep();
      await forwarder?.close();
    },
  };
}

/** Listens for agents and for the cockpit. Rejects when either address is unavailable. */
async function listen(
  config: GatewayConfig,
  deps: GatewayPorts & Shared & Work,
  { version, hostNames, verbs }: GatewayOptions,
) {
  const { trust, assertionKeys } = config;
  const { sockets, store, registry, roster, metrics, clock, random, log } = deps;
  const dial = await startDialListener(sockets, config.dial, {
    roster,
    isKeyRequired: config.requireKey,
    keys: deps.keys,
    isOwnName: ownNames([...config.dialNames, config.dial.hostname, ...hostNames]),
    ackedSeq: (agent, epoch) => store.events.ackedSeq(agent, epoch),
    router: deps.hosts.router,
    registry,
    metrics,
    clock,
    random,
    log,
    version,
  });
  const app = createCockpit(ROUTES, {
    roster,
    trust,
    isOwnHost: config.hosts === undefined ? () => true : ownNames(config.hosts),
    assertionKeys,
    store,
    hub: deps.hub,
    registry,
    router: deps.router,
    streams: deps.streams,
    web: deps.web,
    metrics,
    models: createModelEndpoint(verbs),
    hosts: deps.hosts,
    clock,
    random,
    log,
    version,
    hostname: hostNames[0] ?? "",
  });
  try {
    const answer = (request: Request, peer: string) => app.fetch(request, { peer });
    return { dial, cockpit: await sockets.serveHttp(config.cockpit, answer) };
  } catch (thrown) {
    await dial.close("the gateway did not start");
    throw thrown;
  }
}
