/**
 * What the cockpit shows of an agent: the last state that it told, and whether it is connected.
 * Without a connection it is offline, whatever it said last.
 *
 * @module
 */

import { z } from "zod";
import type { Viewer } from "core/access/viewer.ts";
import type { CockpitParts } from "gateway/cockpit/parts.ts";

/** Shape of a card, published with the routes. */
export const agentCard = z.object({
  agent: z.string(),
  is_own: z.boolean(),
  is_online: z.boolean(),
  /** A state that the client tells, `offline`, or `unknown` for a client that tells none. */
  state: z.string(),
  reason: z.string().nullable(),
  /** Milliseconds since the epoch; since when the state holds. */
  since: z.number().nullable(),
  host: z.string().nullable(),
  version: z.string().nullable(),
  protocol: z.number().nullable(),
  /** When and with which close code the last connection ended. */
  last_seen: z.object({ at: z.number(), close_code: z.number() }).nullable(),
  /**
   * What the gateway keeps of it and how much that may be; `oldest` is when its first event was.
   */
  storage: z.object({ bytes: z.number(), bytes_max: z.number(), oldest: z.number().nullable() }),
});
/** One card. */
export type AgentCard = z.infer<typeof agentCard>;

/** What root of the host is told of an agent. */
export const connectionRow = agentCard.pick({ agent: true, is_online: true, storage: true })
  .extend({ user_email: z.string() });

/** Tells for each identity of the ledger whether its agent is connected, and what is kept of it. */
export function describeConnections(
  parts: Pick<CockpitParts, "roster" | "store" | "registry">,
): readonly z.infer<typeof connectionRow>[] {
  return [...parts.roster.ledger].map(([email, agent]) => ({
    agent,
    user_email: email,
    is_online: parts.registry.get(agent) !== undefined,
    storage: storageOf(agent, parts),
  }));
}

function storageOf(agent: string, { store }: Pick<CockpitParts, "store">): AgentCard["storage"] {
  const { bytes, bytesMax, oldest } = store.usage.of(agent);
  return { bytes, bytes_max: bytesMax, oldest: oldest ?? null };
}

/** Tells whether a viewer may see an agent. */
export function canSee(viewer: Viewer, agent: string): boolean {
  return viewer.kind === "owner" && (viewer.isAdmin || viewer.agent === agent);
}

/** Describes the agents that a viewer may see, in the order of their names. */
export async function describeAgents(
  viewer: Viewer,
  parts: Pick<CockpitParts, "roster" | "store" | "registry">,
  only?: readonly string[],
): Promise<readonly AgentCard[]> {
  const names = [...new Set<string>(parts.roster.ledger.values())]
    .filter((agent) => canSee(viewer, agent) && (only === undefined || only.includes(agent)))
    .sort();
  const memories = new Map((await parts.store.memories()).map((one) => [one.agent, one]));
  return names.map((agent) => {
    const session = parts.registry.get(agent);
    const memory = memories.get(agent);
    const seen = parts.registry.lastSeen(agent);
    const isOnline = session !== undefined;
    return {
      agent,
      is_own: viewer.kind === "owner" && viewer.agent === agent,
      is_online: isOnline,
      state: isOnline ? memory?.state ?? "unknown" : "offline",
      reason: (isOnline ? memory?.reason : undefined) ?? null,
      since: (isOnline ? memory?.since ?? session.since : seen?.at) ?? null,
      host: session?.host ?? null,
      version: session?.version ?? null,
      protocol: session?.protocol ?? null,
      last_seen: seen === undefined ? null : { at: seen.at, close_code: seen.code },
      storage: storageOf(agent, parts),
    };
  });
}
