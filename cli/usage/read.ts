/**
 * The usage of this host's agents, read from each agent's dial unit over its local socket. A dial
 * unit that does not answer is a separate fault, so that no sum hides a missing agent.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { agentsToAsk, stateOf } from "cli/dial_units.ts";
import type { UsageOfDay, UsageOfModel } from "core/dial/usage_shapes.ts";
import { query, type QueryTarget, unexpected } from "core/dial/local_query.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { USAGE_LIMITS } from "core/limits/usage.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";

/** A period: from `since` on, and before `until`; milliseconds since the epoch. */
export interface Period {
  readonly since: number;
  readonly until: number;
}

/** The usage of one agent. */
export interface AgentUsage {
  readonly agent: string;
  readonly days: readonly UsageOfDay[];
  readonly models: readonly UsageOfModel[];
}

/** The usage that was found. */
export interface FoundUsage {
  readonly usage: readonly AgentUsage[];
  /** Why the usage of an agent could not be read. */
  readonly unread: ReadonlyMap<AgentName, Refusal>;
}

/** Reads the usage that the caller may see, or that of the target agent. */
export async function readUsage(
  context: VerbContext,
  period: Period,
): Promise<Result<FoundUsage>> {
  const names = await agentsToAsk(context);
  if (!names.ok) return names;
  const { ports, paths } = context;
  const found = await Promise.all(names.value.map(async (name) => {
    const socket = paths.dialSocket(name);
    const connect = (path: string) => ports.sockets.connectUnix(path);
    return [name, await usageOf({ socket, connect, clock: ports.clock }, name, period)] as const;
  }));
  return ok({
    usage: found.flatMap(([, usage]) => usage.ok ? [usage.value] : []),
    unread: new Map(
      found.flatMap(([name, usage]) => usage.ok ? [] : [[name, unreadUsage(name, usage.error)]]),
    ),
  });
}

/** Asks one dial unit. */
export async function usageOf(
  target: QueryTarget,
  agent: string,
  period: Period & { readonly with_running?: boolean },
): Promise<Result<AgentUsage>> {
  const request = { type: "usage", agent, ...period } as const;
  const answer = await query(target, request, USAGE_LIMITS.answerBytesMax);
  if (!answer.ok) return answer;
  // A program at the socket could pass on the figures of another agent's dial unit.
  if (answer.value.type !== "usage_result" || answer.value.agent !== agent) {
    return err(unexpected(answer.value));
  }
  const { days, models } = answer.value;
  return ok({ agent, days, models });
}

function unreadUsage(agent: AgentName, why: Refusal): Refusal {
  return refusal("usage-unread", `Cannot read the usage of agent "${agent}": ${stateOf(why)}`, {
    hints: why.code === "usage-too-long"
      ? [`fleetctl usage ${agent} --since 7d`]
      : [`fleetctl agents show ${agent}`, `fleetctl agents restart ${agent}`],
  });
}
