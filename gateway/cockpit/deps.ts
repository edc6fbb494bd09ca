/**
 * Dependencies of the cockpit; each handler gets them with its request. Types only.
 *
 * @module
 */

import type { AssertionKeys } from "core/access/assertion.ts";
import type { Trust } from "core/access/viewer.ts";
import type { IsOwnName } from "core/net/host_name.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import type { ModelEndpoint } from "gateway/cockpit/model_endpoint.ts";
import type { LiveRoster } from "gateway/live_roster.ts";
import type { HostRegistry } from "gateway/hosts/host_registry.ts";
import type { WebFiles } from "gateway/cockpit/web_files.ts";
import type { StreamSet } from "gateway/cockpit/streams.ts";
import type { SessionRegistry } from "core/dial/sessions.ts";
import type { Router } from "gateway/dial/router.ts";
import type { GatewayStore } from "gateway/transcript/event_log.ts";
import type { Hub } from "gateway/transcript/hub.ts";
import type { Metrics } from "gateway/metrics.ts";

/** Everything a request may need. */
export interface CockpitDeps {
  readonly roster: Pick<LiveRoster, "current" | "refresh">;
  readonly trust: Trust;
  /** Whether the cockpit serves this host name; without port, lowercase. */
  readonly isOwnHost: IsOwnName;
  readonly assertionKeys: AssertionKeys | undefined;
  readonly store: GatewayStore;
  readonly hub: Hub;
  readonly registry: SessionRegistry;
  readonly router: Router;
  readonly streams: StreamSet;
  readonly web: WebFiles;
  readonly models: ModelEndpoint;
  readonly hosts: Omit<HostRegistry, "router">;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
  /** Name of this host, shown in the steps to add another host; empty when unknown. */
  readonly hostname: string;
}
