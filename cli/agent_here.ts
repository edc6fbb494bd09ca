/**
 * The agent that a verb acts on, from the ledger, on this host. Reads only.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { findAgent, type Ledger, readLedger } from "core/ledger/ledger.ts";
import { err, ok, type Result } from "core/result.ts";

/** Returns the record of the target; refuses an unknown agent and one that runs elsewhere. */
export async function agentHere(
  context: VerbContext,
  known?: Ledger,
): Promise<Result<AgentRecord>> {
  const { ports, paths, target } = context;
  if (target.kind !== "agent") throw new Error("this verb needs an agent as its target");
  const ledger = known === undefined ? await readLedger(ports.files, paths) : ok(known);
  if (!ledger.ok) return ledger;
  const agent = findAgent(ledger.value, target.agent);
  if (!agent.ok) return agent;
  const { name, runOn } = agent.value;
  if (runOn === undefined || runOn === ports.hostname) return agent;
  return err(refusal(
    "agent-elsewhere",
    `Cannot reach agent "${name}" from host "${ports.hostname}": it runs on "${runOn}", ` +
      `must be asked there`,
    { hints: [`ssh ${runOn} fleetctl mcp wired ${name}`] },
  ));
}
