/**
 * Shared by `fleetctl approvals approve` and `deny`. The decision carries the digest of the call
 * found under the id, so it cannot apply to another call. The dial unit accepts the first decision
 * only.
 *
 * @module
 */

import { findApproval } from "cli/approvals/find.ts";
import type { VerbContext } from "cli/context.ts";
import { unitOf } from "cli/waiting_units.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { defined } from "core/defined.ts";
import { sendDecision } from "core/dial/ask_human.ts";
import { refusal } from "core/errors.ts";
import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import { err, ok, type Result } from "core/result.ts";
import { callerAgent, callerText } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of either verb. */
export interface Options {
  readonly id: string;
  readonly decision: "approved" | "denied";
  readonly reason: string | undefined;
}

/** Parses the arguments of either verb. */
export function parseOptions({ args, options, verb }: Invocation): Result<Options> {
  const reason = options.reason?.trim();
  if (reason === "" || (reason?.length ?? 0) > APPROVAL_LIMITS.reasonLengthMax) {
    return err(refusal(
      "reason-unusable",
      `Cannot ${verb.path[1]} the call: the reason must have 1 to ` +
        `${APPROVAL_LIMITS.reasonLengthMax} characters`,
      { kind: "usage" },
    ));
  }
  const decision = verb.path[1] === "approve" ? "approved" : "denied";
  return ok({ id: args.id ?? "", decision, reason });
}

/** Sends the decision to the agent's dial unit. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { caller } = context;
  const { decision, reason } = options;
  const found = await findApproval(context, options.id);
  if (!found.ok) return found;
  const { id, agent, digest, mcp, tool } = found.value;
  // An admin agent may decide for other agents. Its own calls need another approver.
  if (callerAgent(caller) === agent) return err(ownCall(id, agent));
  const sent = await sendDecision(unitOf(context, agent), {
    agent,
    id,
    digest,
    decision,
    by: callerText(caller),
    ...defined({ reason }),
  });
  if (!sent.ok) return sent;
  const name = mcp === "" ? tool : `${mcp} ${tool}`;
  return ok(linesReport(sent.value, [`${decision}: ${name} of agent "${agent}" (${id})`]));
}

function ownCall(id: string, agent: string) {
  return refusal(
    "approval-not-yours",
    `Cannot decide about approval "${id}": it is a call of agent "${agent}" itself, must be ` +
      "decided by another agent or an operator",
    { kind: "denied" },
  );
}
