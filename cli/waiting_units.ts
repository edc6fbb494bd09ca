/**
 * Queries the dial units of this host's agents for what waits for a person. A dial unit that does
 * not answer is a separate fault and hides no other agent's answer.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { agentsToAsk, stateOf } from "cli/dial_units.ts";
import type { QueryTarget } from "core/dial/local_query.ts";
import type { AgentName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import { dialUnit } from "units/render/unit_name.ts";

/** The answers of the dial units. */
export interface UnitAnswers<V> {
  readonly found: readonly V[];
  /** Names of all queried agents, including those in `unread`. */
  readonly queried: readonly AgentName[];
  /** Why an agent did not answer, as the end of a sentence. */
  readonly unread: ReadonlyMap<AgentName, string>;
}

/** Shortest accepted prefix of an id. */
const ID_LENGTH_MIN = 4;

/** Queries the agents that the caller may see, or the target agent. */
export async function queryUnits<V extends { readonly agent: string }>(
  context: VerbContext,
  query: (target: QueryTarget) => Promise<Result<readonly V[]>>,
): Promise<Result<UnitAnswers<V>>> {
  const names = await agentsToAsk(context);
  if (!names.ok) return names;
  const { ports, paths } = context;
  const isOpen = await Promise.all(
    names.value.map(async (name) => await ports.files.stat(paths.dialSocket(name)) !== undefined),
  );
  const absent = names.value.filter((_, at) => isOpen[at] !== true);
  const answers = await Promise.all(
    names.value.filter((_, at) => isOpen[at]).map(async (name) => ({
      name,
      listed: await query(unitOf(context, name)),
    })),
  );
  const unread = new Map<AgentName, string>();
  for (const name of await runningWithoutSocket(context, absent)) {
    unread.set(name, "its dial unit runs without its local socket");
  }
  for (const { name, listed } of answers) {
    if (!listed.ok) unread.set(name, stateOf(listed.error));
  }
  return ok({
    queried: names.value,
    unread,
    // Drops what the program behind a socket reports under another agent's name. With that name it
    // could get its own call approved, or redirect the decision.
    found: answers.flatMap(({ name, listed }) =>
      listed.ok ? listed.value.filter(({ agent }) => agent === name) : []
    ),
  });
}

/** Returns the dial unit of an agent of this host as the target of a query. */
export function unitOf({ ports, paths }: VerbContext, agent: string): QueryTarget {
  return {
    socket: paths.dialSocket(agent),
    connect: (path) => ports.sockets.connectUnix(path),
    clock: ports.clock,
  };
}

/**
 * Returns the only value whose id equals `id` or starts with it; an error describes the state
 * found.
 */
export function onlyWithId<V extends { readonly id: string }>(
  { found, unread, queried }: UnitAnswers<V>,
  id: string,
  what: string,
): Result<V, string> {
  const exact = found.find((each) => each.id === id);
  const alike = id.length < ID_LENGTH_MIN ? [] : found.filter((each) => each.id.startsWith(id));
  const one = exact ?? (alike.length === 1 ? alike[0] : undefined);
  if (one !== undefined) return ok(one);
  const error = alike.length > 1
    ? `${alike.length} begin with it, must be one`
    : unread.size > 0
    ? `${unread.size} of ${queried.length} agents did not answer`
    : `this host has no ${what} with that id`;
  return { ok: false, error };
}

/**
 * Returns agents that run but have no socket. Without a running unit nothing waits, because what
 * waits ends with the unit.
 */
async function runningWithoutSocket(
  { ports, paths }: VerbContext,
  names: readonly AgentName[],
): Promise<readonly AgentName[]> {
  if (names.length === 0) return [];
  const services = ports.services(paths);
  if (!await services.isRunning()) return [];
  const units = await services.status(names.map((name) => dialUnit(name)));
  return names.filter((_, at) => units[at]?.active === "active");
}
