/**
 * The parts of the team-chat gateway that depend on its mode: which callers to trust, and which
 * identity to answer with.
 *
 * @module
 */

import type { Host } from "core/ports/host.ts";
import type { ServiceHosts } from "core/teamchat/service_url.ts";
import type { TeamchatConfig } from "teamchat/config.ts";
import { type ConnectorTokens, createConnectorTokens } from "teamchat/inbound/connector_token.ts";
import { createKeySet, type KeySet } from "teamchat/inbound/key_set.ts";
import type { Metrics } from "teamchat/metrics.ts";
import { type AppTokens, createAppTokens } from "teamchat/reply/app_token.ts";

/** The mode's token check and identity. */
export interface Platform {
  readonly hosts: ServiceHosts;
  readonly keys: KeySet | undefined;
  readonly connectorTokens: ConnectorTokens | undefined;
  readonly tokens: AppTokens | undefined;
}

/** Derives both from the settings. */
export function platformOf(
  config: TeamchatConfig,
  ports: Pick<Host, "http" | "clock" | "log"> & { readonly metrics: Metrics },
  options: { readonly isTokenCached?: boolean },
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
  const keys = config.isReceiverSeparate
    ? undefined
    : createKeySet({ cloud, http, clock, log, metrics });
  return {
    hosts: { mode: "cloud", origins: cloud.serviceOrigins },
    keys,
    connectorTokens: keys === undefined ? undefined : createConnectorTokens({
      issuer: cloud.issuer,
      audiences,
      keys,
      clock,
      metrics,
      isCached: options.isTokenCached ?? true,
    }),
    tokens: createAppTokens({ cloud, appId, secret, tenantId, http, clock, log, metrics }),
  };
}
