/**
 * Finds the agent that a verb acts on: from the ledger, on this host. Reads only.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { readLedgerWithFallback } from "core/ledger/fallback.ts";
import { findAgent, type Ledger } from "core/ledger/ledger.ts";
import { err, ok, type Result } from "core/result.ts";
import { quoteShell } from "core/text/quote.ts";

/**
 * Returns the record of a target whose shard the verb will edit. Refuses a shard that cannot be
 * read.
 */
export async function agentToChange(
  context: VerbContext,
  ledger: Ledger,
): Promise<Result<AgentRecord>> {
  const agent = await agentHere(context, ledger);
  const fault = agent.ok ? ledger.unreadable.get(agent.value.name) : undefined;
  return fault === undefined ? agent : err(fault);
}

/** Returns the record of the target. Refuses an unknown agent and one that runs on another host. */
export async function agentHere(
  context: VerbContext,
  known?: Ledger,
): Promise<Result<AgentRecord>> {
  const { ports, paths, target } = context;
  if (target.kind !== "agent") throw new Error("this verb needs an agent as its target");
  const ledger = known === undefined ? await readLedgerWithFallback(ports, paths) : ok(known);
  if (!ledger.ok) return ledger;
  const agent = findAgent(ledger.value, target.agent);
  if (!agent.ok) return agent;
  const { name, runOn } = agent.value;
  if (runOn === undefined || runOn === ports.hostname) return agent;
  return err(refusal(
    "agent-elsewhere",
    `Cannot reach agent "${name}" from host "${ports.hostname}": it runs on "${runOn}", ` +
      `must be called on that host`,
    { hints: [commandOn(runOn, context.typed)] },
  ));
}

/**
 * Returns the command line that runs a verb on another host. It is quoted for the remote shell,
 * which splits the words again.
 */
export function commandOn(host: string, typed: string): string {
  const isPlain = /^[\w@%+=:,./ -]+$/.test(typed);
  return `ssh ${host} ${isPlain ? `fleetctl ${typed}` : quoteShell(`fleetctl ${typed}`)}`;
}
