/**
 * Which dial units of this host a verb queries, and how it reports one that did not answer.
 *
 * @module
 */

import { agentHere } from "cli/agent_here.ts";
import type { VerbContext } from "cli/context.ts";
import type { Refusal } from "core/errors.ts";
import { readLedger } from "core/ledger/ledger.ts";
import type { AgentName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import { callerAgent, isOperator } from "core/verbs/caller.ts";

/**
 * Returns the target agent, or all agents of this host that the caller may see. Includes agents
 * whose shard cannot be read, because they may still run.
 */
export async function agentsToAsk(context: VerbContext): Promise<Result<readonly AgentName[]>> {
  const { ports, paths, caller, target } = context;
  const ledger = await readLedger(ports.files, paths);
  if (!ledger.ok) return ledger;
  const { agents, unreadable } = ledger.value;
  if (target.kind === "agent") {
    if (unreadable.has(target.agent)) return ok([target.agent]);
    const here = await agentHere(context, ledger.value);
    return here.ok ? ok([here.value.name]) : here;
  }
  const here = [...agents.values()]
    .filter(({ runOn }) => runOn === undefined || runOn === ports.hostname)
    .map(({ name }) => name);
  const own = callerAgent(caller);
  return ok([...here, ...unreadable.keys()].filter((name) => isOperator(caller) || name === own));
}

/** Returns the part of a refusal that describes the state found. */
export function stateOf({ message }: Refusal): string {
  return message.replace(/^Cannot [^:]*: /, "");
}
