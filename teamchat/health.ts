/**
 * How the gateway is, for `/healthz`, `teams-gateway status` and a container's health check. Pure.
 * It names states, never values.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits.ts";
import type { AppTokenFault } from "teamchat/reply/app_token.ts";

/** What health is made from. */
export interface HealthFacts {
  readonly mode: "cloud" | "local";
  readonly version: string;
  readonly agentsKnown: number;
  readonly agentsConnected: number;
  readonly turnsOpen: number;
  /** Undefined when the connector's keys were never fetched, or need not be. */
  readonly keysAgeMs: number | undefined;
  readonly tokenFault: AppTokenFault | undefined;
  readonly secretEnds: number | undefined;
  readonly lastInbound: number | undefined;
  readonly now: number;
}

/** One report. */
export interface Health {
  readonly status: "ok" | "degraded";
  readonly problems: readonly string[];
  readonly [field: string]: unknown;
}

const DAY_MS = 86_400_000;

/** Builds the report. */
export function healthOf(facts: HealthFacts): Health {
  const { now, secretEnds, keysAgeMs, tokenFault } = facts;
  const days = secretEnds === undefined ? undefined : Math.floor((secretEnds - now) / DAY_MS);
  const problems = [
    ...(facts.agentsKnown === 0 ? ["agents-none"] : []),
    ...(facts.mode === "cloud" && keysAgeMs === undefined ? ["keys-never-fetched"] : []),
    ...(keysAgeMs !== undefined && keysAgeMs > TEAMCHAT_LIMITS.keysFreshMs * 2 ? ["keys-old"] : []),
    ...(tokenFault === undefined ? [] : [`app-token-${tokenFault}`]),
    ...(days !== undefined && days < 0 ? ["secret-ended"] : []),
    ...(days !== undefined && days >= 0 && days <= TEAMCHAT_LIMITS.secretWarnDays
      ? ["secret-ends-soon"]
      : []),
  ];
  return {
    status: problems.length === 0 ? "ok" : "degraded",
    problems,
    mode: facts.mode,
    version: facts.version,
    agents: { known: facts.agentsKnown, connected: facts.agentsConnected },
    turns_open: facts.turnsOpen,
    ...(keysAgeMs === undefined ? {} : { keys_age_seconds: Math.round(keysAgeMs / 1000) }),
    ...(days === undefined ? {} : { secret_days_left: days }),
    ...(facts.lastInbound === undefined
      ? {}
      : { last_inbound_seconds: Math.round((now - facts.lastInbound) / 1000) }),
  };
}
