/**
 * An agent's share of the gateway's disk, and the warning before it is full. Once it is full, the
 * gateway stores nothing more for that agent. Pure.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { EVENT_LIMITS } from "core/limits/event.ts";
import { DAY_MS, HOUR_MS } from "core/text/duration.ts";
import { seesHost } from "core/verbs/caller.ts";

/**
 * What the gateway stores for an agent, in bytes, and the time of its oldest event, in
 * milliseconds.
 */
export interface AgentStorage {
  readonly bytes: number;
  readonly bytesMax: number;
  readonly oldest: number | undefined;
}

const MIB = 1024 * 1024;

/** Reads `storage` of a card. Older gateways do not send it. */
export function readStorage(given: unknown): AgentStorage | undefined {
  const { bytes, bytes_max: bytesMax, oldest } = (given ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof bytes !== "number" || typeof bytesMax !== "number" || !(bytesMax > 0)) {
    return undefined;
  }
  return { bytes, bytesMax, oldest: typeof oldest === "number" ? oldest : undefined };
}

/** Reports that a share is full or nearly full. For an operator, suggests a `gc` that frees space. */
export function storageProblem(
  { caller, paths, ports }: VerbContext,
  { agent, storage }: { readonly agent: string; readonly storage: AgentStorage },
): readonly Refusal[] {
  const { bytes, bytesMax, oldest } = storage;
  const part = bytes / bytesMax;
  if (part < EVENT_LIMITS.storageWarnShare) return [];
  const share = `the ${Math.round(bytesMax / MIB)} MiB that the gateway keeps of one agent`;
  const isOperator = seesHost(caller);
  const how = {
    details: isOperator
      ? [
        `"gateway.agent_storage_mib" in ${paths.rolesFile} is the bound, "fleetctl apply" ` +
        "follows it",
        "gc deletes old events of every agent, regardless of each agent's use",
      ]
      : ["an operator of this host can give it room"],
    hints: isOperator ? gcHints(oldest, ports.clock.now()) : [],
  };
  if (part >= 1) {
    const full = `Agent "${agent}" has all of ${share}: nothing more is stored, must have less`;
    return [refusal("agent-storage-full", full, how)];
  }
  return [refusal(
    "agent-storage-filling",
    `Agent "${agent}" has ${Math.floor(part * 100)} % of ${share}, must have less than ` +
      `${EVENT_LIMITS.storageWarnShare * 100} %`,
    how,
  )];
}

/**
 * Suggests a `gc` span that deletes something: half the age of the oldest event, never below the
 * minimum of `gc`.
 */
function gcHints(oldest: number | undefined, now: number): readonly string[] {
  const ageMs = oldest === undefined ? 0 : now - oldest;
  if (ageMs < 2 * HOUR_MS) return [];
  const span = ageMs >= 2 * DAY_MS
    ? `${Math.floor(ageMs / 2 / DAY_MS)}d`
    : `${Math.floor(ageMs / 2 / HOUR_MS)}h`;
  return [`fleetctl gc --events ${span} --dry-run`, `fleetctl gc --events ${span}`];
}
