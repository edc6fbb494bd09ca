/**
 * Health of the gateway, for `/healthz`, `teams-gateway status` and a container's health check.
 * Pure. It contains states and counts, but no secrets and no names.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { agentsDigest } from "core/teamchat/agents_digest.ts";
import { DAY_MS } from "core/text/duration.ts";
import type { AppTokenFault } from "teamchat/reply/app_token.ts";

/** Inputs of the report. */
export interface HealthFacts {
  readonly mode: "cloud" | "local";
  readonly version: string;
  /** Maps each owner to its agent. */
  readonly owners: ReadonlyMap<string, string>;
  /** Whether changes of the owners are detected; otherwise the map from the start is used. */
  readonly isOwnersWatched: boolean;
  /** The owners' file was unusable at the last check; the previous map is still used. */
  readonly isOwnersDamaged: boolean;
  /** Turns, file offers or events of former owners remain, because a write failed. */
  readonly isFormerOwnerCleanupBehind: boolean;
  readonly agentsConnected: number;
  readonly turnsOpen: number;
  /**
   * Age of the connector's keys. Undefined when they were never fetched, or are not needed;
   * `elsewhere` when the receiver has them.
   */
  readonly keysAgeMs: number | undefined | "elsewhere";
  readonly tokenFault: AppTokenFault | undefined;
  readonly secretEnds: number | undefined;
  readonly lastInbound: number | undefined;
  readonly now: number;
}

/** A health report. */
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
    ...(facts.isFormerOwnerCleanupBehind ? ["former-owners-left"] : []),
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

/** Facts that the receiver knows. */
export interface ReceiverFacts
  extends Pick<HealthFacts, "mode" | "version" | "lastInbound" | "now"> {
  readonly keysAgeMs: number | undefined;
  /** Activities that wait for the sender. */
  readonly spooled: number;
  readonly isOwnersDamaged: boolean;
}

/**
 * Returns the report of receiver and sender. `sender` is undefined while the sender does not
 * answer.
 */
export function joinHealth(facts: ReceiverFacts, sender: Health | undefined): Health {
  const { mode, version, keysAgeMs, lastInbound, spooled, now } = facts;
  // Receiver and sender read the same file.
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
