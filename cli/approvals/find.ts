/**
 * The approvals of this host as a verb sees them: asked of each agent's dial unit over its local
 * socket. A dial unit that does not answer is a fault of its own and hides no other.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { listApprovals } from "core/dial/ask_human.ts";
import type { ApprovalView } from "core/dial/local_frames.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { readLedger } from "core/ledger/ledger.ts";
import { err, ok, type Result } from "core/result.ts";
import { callerAgent, isOperator } from "core/verbs/caller.ts";

/** What was found. */
export interface FoundApprovals {
  readonly approvals: readonly ApprovalView[];
  /** Agents whose dial unit did not answer. */
  readonly faults: readonly Refusal[];
}

/** Fewer characters of an id name nothing. */
const ID_LENGTH_MIN = 4;

/** Reads the approvals that the caller may see; of one agent when it is named. */
export async function readApprovals(
  { ports, paths, caller }: VerbContext,
  agent?: string,
): Promise<Result<FoundApprovals>> {
  const ledger = await readLedger(ports.files, paths);
  if (!ledger.ok) return ledger;
  const own = callerAgent(caller);
  const names = [...ledger.value.agents.values()]
    .filter(({ runOn }) => runOn === undefined || runOn === ports.hostname)
    .map(({ name }) => name)
    .filter((name) => agent === undefined ? isOperator(caller) || name === own : name === agent);
  const found = await Promise.all(names.map(async (name) => {
    const socket = paths.dialSocket(name);
    // An agent that does not run has nobody who waits.
    if (await ports.files.stat(socket) === undefined) return ok([]);
    const connect = (path: string) => ports.sockets.connectUnix(path);
    const listed = await listApprovals({ socket, connect, clock: ports.clock });
    // Whoever holds the socket speaks for this agent alone: under another name it could have its own
    // call approved by itself, or lead the decision to another path.
    return listed.ok ? ok(listed.value.filter(({ agent }) => agent === name)) : listed;
  }));
  return ok({
    approvals: found.flatMap((each) => each.ok ? each.value : []),
    faults: found.flatMap((each) => each.ok ? [] : [each.error]),
  });
}

/** Returns the one approval whose id is, or begins with, `id`. */
export async function findApproval(
  context: VerbContext,
  id: string,
): Promise<Result<ApprovalView>> {
  const read = await readApprovals(context);
  if (!read.ok) return read;
  const { approvals, faults } = read.value;
  const exact = approvals.find((each) => each.id === id);
  const alike = id.length < ID_LENGTH_MIN ? [] : approvals.filter((each) => each.id.startsWith(id));
  const found = exact ?? (alike.length === 1 ? alike[0] : undefined);
  if (found !== undefined) return ok(found);
  const state = alike.length > 1
    ? `${alike.length} begin with it, must be one`
    : "there is none of that name on this host";
  return err(refusal(
    "approval-unknown",
    `Cannot find approval ${JSON.stringify(id.slice(0, 64))}: ${state}`,
    { hints: ["fleetctl approvals list --all"], details: faults.map((fault) => fault.message) },
  ));
}
