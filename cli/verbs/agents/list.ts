/**
 * `fleetctl agents list`: the agents of the ledger with their settings. An agent sees only itself,
 * an operator sees all. Changes nothing.
 *
 * @module
 */

import { recordJson } from "cli/agents/record_json.ts";
import { agentStates, sinceText, stateCell, stateJson } from "cli/agents/states.ts";
import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { readCatalog } from "core/catalog/catalog.ts";
import { missingTools, readDefaults, resolveTools } from "core/catalog/defaults.ts";
import type { HostState } from "core/dial/host_state.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { readLedgerWithFallback } from "core/ledger/fallback.ts";
import type { McpName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import { callerAgent, isOperator } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** `fleetctl agents list` has no options. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: there are none. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/** One agent of the list. */
interface Row {
  readonly agent: AgentRecord;
  readonly tools: readonly McpName[];
  readonly missing: readonly McpName[];
  /** Undefined for an agent that runs on another host. */
  readonly state: HostState | undefined;
}

/** Reads ledger, catalog and units. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const { ports, paths, caller } = context;
  const ledger = await readLedgerWithFallback(ports, paths);
  if (!ledger.ok) return ledger;
  const catalog = await readCatalog(ports, paths);
  if (!catalog.ok) return catalog;
  const defaults = await readDefaults(ports, paths, catalog.value);
  const own = callerAgent(caller);
  const seen = [...ledger.value.agents.values()].filter((agent) =>
    isOperator(caller) || agent.name === own
  );
  const here = seen.filter(({ runOn }) => runOn === undefined || runOn === ports.hostname);
  const states = await agentStates(context, here);
  const rows = seen.map((agent): Row => ({
    agent,
    tools: resolveTools(agent, catalog.value, defaults),
    missing: missingTools(agent, catalog.value, defaults),
    state: states.get(agent.name),
  }));
  return ok({
    json: { agents: rows.map(rowJson) },
    blocks: [{
      kind: "table",
      columns: ["name", "channel", "runtime", "runs on", "state", "since", "user", "mcps"],
      rows: rows.map(rowCells),
      empty: "There are no agents yet: fleetctl agents add <name> --channel webview",
    }],
    faults: isOperator(caller) ? ledger.value.faults : [],
  });
}

function rowJson({ agent, tools, missing, state }: Row) {
  return {
    name: agent.name,
    ...recordJson(agent),
    tools,
    missing_tools: missing,
    ...(state === undefined
      ? { state: `on ${agent.runOn}`, reason: null, since: null }
      : stateJson(state)),
    created: agent.created ?? null,
  };
}

function rowCells({ agent, tools, missing, state }: Row): readonly Cell[] {
  return [
    agent.isAdmin ? `${agent.name} (admin)` : agent.name,
    agent.channel,
    agent.runtime,
    agent.runOn ?? { text: "every host", tone: "warn" },
    state === undefined ? { text: `on ${agent.runOn}`, tone: "dim" } : stateCell(state),
    state === undefined ? "" : sinceText(state),
    agent.userEmail ?? agent.ownerEmail ?? "",
    [...tools, ...missing.map((name) => `${name} (not in catalog)`)].join(", "),
  ];
}
