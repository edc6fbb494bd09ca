/**
 * What the cockpit shows of an agent: its last reported state, and whether it is connected.
 * Without a connection it is offline, whatever it reported last.
 *
 * @module
 */

import * as z from "zod";
import type { Viewer } from "core/access/viewer.ts";
import type { CockpitDeps } from "gateway/cockpit/deps.ts";

/** Shape of a card, published with the routes. */
export const agentCard = z.object({
  agent: z.string(),
  is_own: z.boolean(),
  is_online: z.boolean(),
  /** State that the client reported, `offline`, or `unknown` for a client that reports none. */
  state: z.string(),
  reason: z.string().nullable(),
  /** Milliseconds since the epoch; when the state began. */
  since: z.number().nullable(),
  host: z.string().nullable(),
  version: z.string().nullable(),
  protocol: z.number().nullable(),
  /** When the last connection ended, and its close code. */
  last_seen: z.object({ at: z.number(), close_code: z.number() }).nullable(),
  /** Stored bytes and their limit; `oldest` is the time of its first event. */
  storage: z.object({ bytes: z.number(), bytes_max: z.number(), oldest: z.number().nullable() }),
});
/** One card. */
export type AgentCard = z.infer<typeof agentCard>;

/** What root of the host may see of an agent. */
export const connectionRow = agentCard.pick({ agent: true, is_online: true, storage: true })
  .extend({ user_email: z.string() });

/** Reports for each identity of the ledger whether its agent is connected, and its storage. */
export function describeConnections(
  deps: Pick<CockpitDeps, "roster" | "store" | "registry">,
): readonly z.infer<typeof connectionRow>[] {
  return [...deps.roster.current().ledger].map(([email, agent]) => ({
    agent,
    user_email: email,
    is_online: deps.registry.get(agent) !== undefined,
    storage: storageOf(agent, deps),
  }));
}

function storageOf(agent: string, { store }: Pick<CockpitDeps, "store">): AgentCard["storage"] {
  const { bytes, bytesMax, oldest } = store.usage.of(agent);
  return { bytes, bytes_max: bytesMax, oldest: oldest ?? null };
}

/** Reports whether a viewer may see an agent. */
export function canSee(viewer: Viewer, agent: string): boolean {
  return viewer.kind === "owner" && (viewer.isAdmin || viewer.agent === agent);
}

/** Describes the agents that a viewer may see, or those of `only`; sorted by name. */
export async function describeAgents(
  viewer: Viewer,
  deps: Pick<CockpitDeps, "roster" | "store" | "registry">,
  only?: readonly string[],
): Promise<readonly AgentCard[]> {
  const known: ReadonlySet<string> = deps.roster.current().agents;
  const names = (only === undefined ? [...known] : only.filter((agent) => known.has(agent)))
    .filter((agent) => canSee(viewer, agent))
    .sort();
  const memories = new Map((await deps.store.memories(only)).map((one) => [one.agent, one]));
  return names.map((agent) => {
    const session = deps.registry.get(agent);
    const memory = memories.get(agent);
    const seen = deps.registry.lastSeen(agent);
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
      storage: storageOf(agent, deps),
    };
  });
}
