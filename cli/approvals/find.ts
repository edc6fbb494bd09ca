/**
 * The approvals of this host, read from each agent's dial unit over its local socket. A dial unit
 * that does not answer is a separate fault and hides no other agent's approvals.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { agentsToAsk, stateOf } from "cli/dial_units.ts";
import { listApprovals } from "core/dial/ask_human.ts";
import type { ApprovalView } from "core/dial/local_frames.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { dialUnit } from "units/render/unit_name.ts";

/** The approvals that were found. */
export interface FoundApprovals {
  readonly approvals: readonly ApprovalView[];
  /** Names of all queried agents, including those in `unread`. */
  readonly queried: readonly AgentName[];
  /** Why the approvals of an agent could not be read. */
  readonly unread: ReadonlyMap<AgentName, Refusal>;
}

/** Shortest accepted prefix of an id. */
const ID_LENGTH_MIN = 4;

/** Reads the approvals that the caller may see, or those of the target agent. */
export async function readApprovals(context: VerbContext): Promise<Result<FoundApprovals>> {
  const names = await agentsToAsk(context);
  if (!names.ok) return names;
  const { ports, paths } = context;
  const isOpen = await Promise.all(
    names.value.map(async (name) => await ports.files.stat(paths.dialSocket(name)) !== undefined),
  );
  const absent = names.value.filter((_, at) => isOpen[at] !== true);
  const found = await Promise.all(
    names.value.filter((_, at) => isOpen[at]).map((name) => askAgent(context, name)),
  );
  const unread = new Map<AgentName, Refusal>();
  for (const name of await runningWithoutSocket(context, absent)) {
    unread.set(name, unreadApprovals(name, "its dial unit runs without its local socket"));
  }
  for (const { name, listed } of found) {
    if (!listed.ok) unread.set(name, unreadApprovals(name, stateOf(listed.error)));
  }
  return ok({
    queried: names.value,
    unread,
    approvals: found.flatMap(({ listed }) => listed.ok ? listed.value : []),
  });
}

async function askAgent({ ports, paths }: VerbContext, name: AgentName) {
  const listed = await listApprovals({
    socket: paths.dialSocket(name),
    connect: (path) => ports.sockets.connectUnix(path),
    clock: ports.clock,
  });
  // The program behind the socket may report approvals of this agent only. With another agent's
  // name it could get its own call approved, or redirect the decision.
  const own = listed.ok ? ok(listed.value.filter(({ agent }) => agent === name)) : listed;
  return { name, listed: own };
}

/**
 * Returns agents that run but have no socket. Without a running unit no call waits, because each
 * waiting call keeps a connection open.
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

/** Returns the only approval whose id equals `id` or starts with it. */
export async function findApproval(
  context: VerbContext,
  id: string,
): Promise<Result<ApprovalView>> {
  const read = await readApprovals(context);
  if (!read.ok) return read;
  const { approvals, unread } = read.value;
  const exact = approvals.find((each) => each.id === id);
  const alike = id.length < ID_LENGTH_MIN ? [] : approvals.filter((each) => each.id.startsWith(id));
  const found = exact ?? (alike.length === 1 ? alike[0] : undefined);
  if (found !== undefined) return ok(found);
  const state = alike.length > 1
    ? `${alike.length} begin with it, must be one`
    : unread.size > 0
    ? `${unread.size} of ${read.value.queried.length} agents did not answer`
    : "this host has no approval with that id";
  return err(refusal(
    "approval-unknown",
    `Cannot find approval ${JSON.stringify(id.slice(0, 64))}: ${state}`,
    {
      hints: ["fleetctl approvals list --all"],
      details: [...unread.values()].map((fault) => fault.message),
    },
  ));
}

function unreadApprovals(agent: AgentName, state: string): Refusal {
  return refusal("approvals-unread", `Cannot read the approvals of agent "${agent}": ${state}`, {
    hints: [`fleetctl agents show ${agent}`, `fleetctl agents restart ${agent}`],
  });
}
