/**
 * Wires the gateway: store, router, dial-in listener, cockpit. Takes ports, reads no environment;
 * `gateway/main.ts` and the tests start it the same way.
 *
 * @module
 */

import type { Host, ListenAddress } from "core/ports.ts";
import { createCockpit } from "gateway/cockpit/app.ts";
import { createStreamSet } from "gateway/cockpit/streams.ts";
import { openWebFiles } from "gateway/cockpit/web_files.ts";
import { ROUTES } from "gateway/cockpit/table.ts";
import { createModelDesk } from "gateway/cockpit/model_desk.ts";
import type { GatewayConfig } from "gateway/config.ts";
import type { VerbRunner } from "gateway/daemon_verbs.ts";
import { startDialListener } from "gateway/dial/app.ts";
import { type EnrollKey, startKeyForwarder } from "gateway/dial/key_forwarder.ts";
import { openKeyList } from "core/dial/key_list.ts";
import { watchKeys } from "core/dial/key_watch.ts";
import { openDialKeys } from "gateway/dial/keys.ts";
import { createMessages } from "gateway/dial/messages.ts";
import { ownNames } from "core/host_name.ts";
import { createSessionRegistry } from "core/dial/sessions.ts";
import { createHostDesk } from "gateway/hosts/desk.ts";
import { createRouter } from "gateway/dial/router.ts";
import { createMetrics, type Metrics } from "gateway/metrics.ts";
import { createHub } from "gateway/transcript/hub.ts";
import { openGatewayStore } from "gateway/transcript/store.ts";
import { startSweep } from "gateway/transcript/sweep.ts";

/** Ports of the gateway. */
export type GatewayPorts = Pick<
  Host,
  "clock" | "random" | "files" | "sockets" | "databases" | "log"
>;

/** What the gateway gets besides its settings. */
export interface GatewayOptions {
  readonly version: string;
  /** Names and addresses of this host. */
  readonly hostNames: readonly string[];
  /** Brings first keys into the ledger; without it they count on this gateway only. */
  readonly forwardKey?: EnrollKey;
  /** Runs the verbs that owners ask for; without it they are refused. */
  readonly verbs?: VerbRunner;
}

/** The running gateway. */
export interface Gateway {
  readonly cockpit: ListenAddress;
  readonly dial: ListenAddress;
  readonly metrics: Metrics;
  /** Says good-bye to agents and pages, then closes. */
  close(reason?: string): Promise<void>;
}

/** Starts the gateway; rejects with `FileFault` or `AddressFault`. */
export async function startGateway(
  config: GatewayConfig,
  ports: GatewayPorts,
  options: GatewayOptions,
): Promise<Gateway> {
  const { clock, random, files, sockets, databases, log } = ports;
  const { paths, roster } = config;
  await files.ensureDir(paths.role("gateway"), { mode: 0o700 });
  const store = await openGatewayStore(
    databases,
    `${paths.role("gateway")}/gateway.db`,
    random.uuid(),
    config.agentBytesMax,
  );
  const metrics = createMetrics();
  metrics.gauge("fullest_share", () => store.usage.fullest());
  const hub = createHub();
  const registry = createSessionRegistry(clock);
  const messages = createMessages({
    ...{ roster, turns: store.turns, hasRoom: store.events.hasRoom, clock, random },
  });
  const router = createRouter({ store, hub, registry, metrics, clock, log }, messages);
  const streams = createStreamSet(metrics);
  const web = await openWebFiles(files, paths.web);
  const { version, forwardKey } = options;
  const keys = openDialKeys({
    ...{ files, path: paths.dialKeys, book: store.keys, clock, log },
    onPending: () => forwarder?.wake(),
  });
  const hosts = createHostDesk({
    ...{ registry, agents: router, hub, clock, random, log },
    keys: openKeyList(files, paths.dialKeys, clock),
  });
  const forwarder = forwardKey === undefined
    ? undefined
    : startKeyForwarder({ keys, forward: forwardKey, clock, log });
  const stopWatch = watchKeys({ keys, registry, clock, log });
  const { retention } = store;
  const stopSweep = config.eventsDays === undefined
    ? () => {}
    : startSweep({ retention, days: config.eventsDays, clock, log });
  const stopOwnWork = async () => {
    stopWatch();
    stopSweep();
    await forwarder?.close();
  };
  try {
    const dial = await startDialListener(sockets, config.dial, {
      ledger: roster.ledger,
      isKeyRequired: config.requireKey,
      keys,
      isOwnName: ownNames([...config.dialNames, config.dial.hostname, ...options.hostNames]),
      ackedSeq: (agent, epoch) => store.events.ackedSeq(agent, epoch),
      router: hosts.router,
      registry,
      metrics,
      clock,
      random,
      log,
      version,
    });
    const { trust, assertionKeys } = config;
    const isOwnHost = config.hosts === undefined ? () => true : ownNames(config.hosts);
    const models = createModelDesk(options.verbs);
    const app = createCockpit(ROUTES, {
      ...{ roster, trust, isOwnHost, assertionKeys, store, hub, registry, router, streams, web },
      ...{ metrics, models, hosts, clock, random, log, version },
      hostname: options.hostNames[0] ?? "",
    });
    const cockpit = await sockets.serveHttp(
      config.cockpit,
      (request, peer) => app.fetch(request, { peer }),
    ).catch(async (thrown) => {
      await dial.close("the gateway did not start");
      throw thrown;
    });
    return {
      cockpit: cockpit.address,
      dial: dial.address,
      metrics,
      close: async (reason = "the gateway restarts") => {
        streams.endAll();
        await Promise.all([dial.close(reason), cockpit.close(), stopOwnWork()]);
        await router.settled();
        store.close();
      },
    };
  } catch (thrown) {
    await stopOwnWork();
    store.close();
    throw thrown;
  }
}
