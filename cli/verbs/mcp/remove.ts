/**
 * `fleetctl mcp remove`: removes an MCP from an agent. The planner removes its units and client
 * entry. A shared socket stays while another agent has the MCP, and the report names that agent.
 *
 * @module
 */

import { agentToChange } from "cli/agent_here.ts";
import type { VerbContext } from "cli/context.ts";
import type { Gathered } from "cli/facts.ts";
import type { VerbReport } from "cli/output.ts";
import {
  authorOf,
  factsWith,
  installFirst,
  planReport,
  readFacts,
  reconcileFacts,
  underAgentLock,
} from "cli/planner.ts";
import { withoutTool } from "core/catalog/defaults.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { changeAgent } from "core/ledger/agents.ts";
import { type AgentName, type McpName, parseMcpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { scopeOf } from "units/reconcile/scope.ts";

/** Options of `fleetctl mcp remove`; the agent is the context's target. */
export interface Options {
  readonly mcp: McpName;
  readonly isDryRun: boolean;
}

/** Parses the arguments. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const mcp = parseMcpName(invocation.args.mcp ?? "");
  if (!mcp.ok) return mcp;
  return ok({ mcp: mcp.value, isDryRun: invocation.switches.has("dry-run") });
}

/** Records the change, then reconciles. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { mcp, isDryRun } = options;
  const { target } = context;
  const trees = isDryRun || target.kind !== "agent"
    ? ok(undefined)
    : await installFirst(context, target.agent);
  if (!trees.ok) return trees;
  return await underAgentLock(context, async (awaitLater) => {
    const before = await readFacts(context);
    if (!before.ok) return before;
    const agent = await agentToChange(context, before.value.ledger);
    if (!agent.ok) return agent;
    const { name } = agent.value;
    if (!before.value.facts.wired.get(name)?.includes(mcp)) return err(notWired(mcp, name));
    const { defaults } = before.value;
    if (!isDryRun) {
      // Ledger first: the next `apply` then finishes an interrupted reconcile.
      const recorded = await changeAgent(context.ports, context.paths, {
        ...authorOf(context, "mcp remove"),
        agent: name,
        summary: `"${mcp}" from agent "${name}"`,
        decide: (record) => ok({ tools: withoutTool(record, mcp, defaults) }),
      });
      if (!recorded.ok) return recorded;
    }
    const changed = { ...agent.value, tools: withoutTool(agent.value, mcp, defaults) };
    const gathered = await factsWith(context, before.value, { agent: changed });
    if (!gathered.ok) return gathered;
    const report = await reconcileFacts(context, gathered.value, {
      dryRun: isDryRun,
      restartAgents: false,
      awaitLater,
      ...defined({ vendor: trees.value }),
      scope: scopeOf(gathered.value.facts, name, [mcp]),
    });
    if (!report.ok) return report;
    const keepers = keepersOf(gathered.value, mcp);
    const shown = {
      ...report.value,
      restartPending: report.value.restartPending.filter((agentName) => agentName !== name),
    };
    return ok(planReport(shown, gathered.value, {
      json: { mcp, agent: name, kept_by: keepers, state: isDryRun ? "planned" : "not wired" },
      last: [
        `MCP "${mcp}" ${isDryRun ? "would be" : "is"} removed from agent "${name}"`,
        ...keptLines(mcp, keepers),
        `the agent forgets it when it restarts: fleetctl agents restart ${name}`,
      ],
      singleAgentCaller: context.caller,
    }));
  });
}

/** Agents of this host that still need the shared socket of an MCP. */
function keepersOf({ facts }: Gathered, mcp: McpName): readonly AgentName[] {
  if (facts.catalog.get(mcp)?.sharing !== "shared") return [];
  return [...facts.wired].flatMap(([agent, mcps]) => mcps.includes(mcp) ? [agent] : []);
}

function keptLines(mcp: McpName, keepers: readonly AgentName[]): readonly string[] {
  if (keepers.length === 0) return [];
  const names = keepers.map((agent) => `"${agent}"`).join(", ");
  return [`the shared socket of "${mcp}" stays, because it is wired to: ${names}`];
}

function notWired(mcp: McpName, agent: AgentName) {
  return refusal(
    "mcp-not-wired",
    `Cannot remove MCP "${mcp}" from agent "${agent}": it is not wired to that agent`,
    { hints: [`fleetctl mcp wired ${agent}`] },
  );
}
