/**
 * How the gateway is, for `/healthz`, `teams-gateway status` and a container's health check. Pure.
 * It names states, never values.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { agentsDigest } from "core/teamchat/agents_digest.ts";
import { DAY_MS } from "core/text/duration.ts";
import type { AppTokenFault } from "teamchat/reply/app_token.ts";

/** What health is made from. */
export interface HealthFacts {
  readonly mode: "cloud" | "local";
  readonly version: string;
  /** Whose agent is whose. */
  readonly owners: ReadonlyMap<string, string>;
  /** Whether who comes or goes is noticed; else it goes by what it was started with. */
  readonly isOwnersWatched: boolean;
  /**
   * The file of the owners could not be used when it was last looked at; the map before it counts.
   */
  readonly isOwnersDamaged: boolean;
  /** The disk does not let what former owners left be ended. */
  readonly isDisowningBehind: boolean;
  readonly agentsConnected: number;
  readonly turnsOpen: number;
  /**
   * Undefined when the connector's keys were never fetched, or need not be; `elsewhere` when they
   * are the receiving half's.
   */
  readonly keysAgeMs: number | undefined | "elsewhere";
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

const OWNERS_DAMAGED = "agents-file-damaged";

/** Builds the report. */
export function healthOf(facts: HealthFacts): Health {
  const { now, secretEnds, tokenFault } = facts;
  const days = secretEnds === undefined ? undefined : Math.floor((secretEnds - now) / DAY_MS);
  const problems = [
    ...(facts.owners.size === 0 ? ["agents-none"] : []),
    ...(facts.isOwnersDamaged ? [OWNERS_DAMAGED] : []),
    ...(facts.isDisowningBehind ? ["former-owners-left"] : []),
    ...(facts.keysAgeMs === "elsewhere" ? [] : keyProblems(facts.mode, facts.keysAgeMs)),
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
    agents: {
      known: facts.owners.size,
      connected: facts.agentsConnected,
      watched: facts.isOwnersWatched,
      digest: agentsDigest(facts.owners),
    },
    turns_open: facts.turnsOpen,
    ...(typeof facts.keysAgeMs === "number" ? keysAge(facts.keysAgeMs) : {}),
    ...defined({ secret_days_left: days }),
    ...(facts.lastInbound === undefined
      ? {}
      : { last_inbound_seconds: Math.round((now - facts.lastInbound) / 1000) }),
  };
}

/** What the receiving half knows by itself. */
export interface ReceiverFacts
  extends Pick<HealthFacts, "mode" | "version" | "lastInbound" | "now"> {
  readonly keysAgeMs: number | undefined;
  /** Activities that wait for the sending half. */
  readonly spooled: number;
  readonly isOwnersDamaged: boolean;
}

/** The report of both halves; `sender` is undefined while the sending half does not answer. */
export function joinHealth(facts: ReceiverFacts, sender: Health | undefined): Health {
  const { mode, version, keysAgeMs, lastInbound, spooled, now } = facts;
  // Both halves read the same file.
  const problems = [
    ...new Set([
      ...(sender === undefined ? ["sender-away"] : sender.problems),
      ...keyProblems(mode, keysAgeMs),
      ...(facts.isOwnersDamaged ? [OWNERS_DAMAGED] : []),
    ]),
  ];
  return {
    mode,
    version,
    ...sender,
    status: problems.length === 0 ? "ok" : "degraded",
    problems,
    spooled,
    ...(keysAgeMs === undefined ? {} : keysAge(keysAgeMs)),
    ...(lastInbound === undefined
      ? {}
      : { last_inbound_seconds: Math.round((now - lastInbound) / 1000) }),
  };
}

function keyProblems(mode: HealthFacts["mode"], ageMs: number | undefined): readonly string[] {
  if (ageMs === undefined) return mode === "cloud" ? ["keys-never-fetched"] : [];
  return ageMs > TEAMCHAT_LIMITS.keysFreshMs * 2 ? ["keys-old"] : [];
}

function keysAge(ageMs: number): { readonly keys_age_seconds: number } {
  return { keys_age_seconds: Math.round(ageMs / 1000) };
}
