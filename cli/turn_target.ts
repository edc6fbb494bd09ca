/**
 * The agent that gets a turn from this host: known, on this host, and not stopped. Reads only.
 *
 * @module
 */

import { agentHere } from "cli/agent_here.ts";
import type { VerbContext } from "cli/context.ts";
import { refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { err, type Result } from "core/result.ts";

/** Returns the record of the target. Refuses an agent that was stopped on purpose. */
export async function agentForTurn(context: VerbContext): Promise<Result<AgentRecord>> {
  const agent = await agentHere(context);
  if (!agent.ok || agent.value.stopped === undefined) return agent;
  const { name } = agent.value;
  return err(refusal(
    "agent-stopped",
    `Cannot send a turn to agent "${name}": it was stopped on purpose, must be started`,
    { hints: [`fleetctl agents start ${name}`] },
  ));
}
