/**
 * The approvals of this host, read from each agent's dial unit.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { onlyWithId, queryUnits } from "cli/waiting_units.ts";
import { listApprovals } from "core/dial/ask_human.ts";
import type { ApprovalView } from "core/dial/local_frames.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";

/** The approvals that were found. */
export interface FoundApprovals {
  readonly approvals: readonly ApprovalView[];
  /** Names of all queried agents, including those in `unread`. */
  readonly queried: readonly AgentName[];
  /** Why the approvals of an agent could not be read. */
  readonly unread: ReadonlyMap<AgentName, Refusal>;
}

/** Reads the approvals that the caller may see, or those of the target agent. */
export async function readApprovals(context: VerbContext): Promise<Result<FoundApprovals>> {
  const answers = await queryUnits(context, listApprovals);
  if (!answers.ok) return answers;
  const { found, queried, unread } = answers.value;
  return ok({
    approvals: found,
    queried,
    unread: new Map([...unread].map(([name, state]) => [name, unreadApprovals(name, state)])),
  });
}

/** Returns the only approval whose id equals `id` or starts with it. */
export async function findApproval(
  context: VerbContext,
  id: string,
): Promise<Result<ApprovalView>> {
  const answers = await queryUnits(context, listApprovals);
  if (!answers.ok) return answers;
  const found = onlyWithId(answers.value, id, "approval");
  if (found.ok) return found;
  return err(refusal(
    "approval-unknown",
    `Cannot find approval ${JSON.stringify(id.slice(0, 64))}: ${found.error}`,
    {
      hints: ["fleetctl approvals list --all"],
      details: [...answers.value.unread].map(([name, state]) =>
        unreadApprovals(name, state).message
      ),
    },
  ));
}

function unreadApprovals(agent: AgentName, state: string): Refusal {
  return refusal("approvals-unread", `Cannot read the approvals of agent "${agent}": ${state}`, {
    hints: [`fleetctl agents show ${agent}`, `fleetctl agents restart ${agent}`],
  });
}
