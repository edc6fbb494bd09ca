/**
 * `fleetctl agents list`: the agents of the ledger and what each one has. An agent sees itself, an
 * operator all of them. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { readCatalog } from "core/catalog/catalog.ts";
import { missingTools, readDefaults, resolveTools } from "core/catalog/defaults.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { readLedger } from "core/ledger/ledger.ts";
import type { McpName } from "core/names.ts";
import type { ServiceManager, UnitStatus } from "core/ports.ts";
import { ok, type Result } from "core/result.ts";
import { callerAgent, isOperator } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { dialUnit } from "units/render/unit_name.ts";

/** `fleetctl agents list` takes no options. */
export type Options = Readonly<Record<never, never>>;

/** Parses nothing. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/** One agent of the list. */
interface Row {
  readonly agent: AgentRecord;
  readonly tools: readonly McpName[];
  readonly missing: readonly McpName[];
  readonly state: string;
}

/** Reads ledger, catalog and units. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const { ports, paths, caller } = context;
  const ledger = await readLedger(ports.files, paths);
  if (!ledger.ok) return ledger;
  const catalog = await readCatalog(ports, paths);
  if (!catalog.ok) return catalog;
  const defaults = await readDefaults(ports, paths, catalog.value);
  const own = callerAgent(caller);
  const seen = [...ledger.value.agents.values()].filter((agent) =>
    isOperator(caller) || agent.name === own
  );
  const states = await dialStates(ports.services(paths), seen);
  const rows = seen.map((agent): Row => ({
    agent,
    tools: resolveTools(agent, catalog.value, defaults),
    missing: missingTools(agent, catalog.value, defaults),
    state: agent.runOn !== undefined && agent.runOn !== ports.hostname
      ? `on ${agent.runOn}`
      : states.get(agent.name) ?? "unknown",
  }));
  return ok({
    json: { agents: rows.map(rowJson) },
    blocks: [{
      kind: "table",
      columns: ["name", "channel", "runtime", "runs on", "state", "user", "mcps"],
      rows: rows.map(rowCells),
      empty: "There are no agents yet: fleetctl agents add <name> --channel webview",
    }],
    faults: isOperator(caller) ? ledger.value.faults : [],
  });
}

/** Returns the state of each agent's dial unit; "unknown" when no service manager answers. */
export async function dialStates(
  services: ServiceManager,
  agents: readonly AgentRecord[],
): Promise<ReadonlyMap<string, string>> {
  if (agents.length === 0 || !await services.isRunning()) return new Map();
  const units = await services.status(agents.map((agent) => dialUnit(agent.name)));
  const byUnit = new Map(units.map((unit) => [unit.unit, unit]));
  return new Map(agents.map((agent) => [agent.name, stateText(byUnit.get(dialUnit(agent.name)))]));
}

function stateText(status: UnitStatus | undefined): string {
  if (status === undefined || status.load === "not-found") return "not installed";
  return status.reason === undefined || status.active === "active"
    ? status.active
    : `${status.active} (${status.reason})`;
}

function rowJson({ agent, tools, missing, state }: Row) {
  return {
    name: agent.name,
    channel: agent.channel,
    user_email: agent.userEmail ?? null,
    owner_aad: agent.ownerAad ?? null,
    owner_email: agent.ownerEmail ?? null,
    runtime: agent.runtime,
    provider: agent.provider ?? null,
    model: agent.model ?? null,
    run_on: agent.runOn ?? null,
    admin: agent.isAdmin,
    tools,
    missing_tools: missing,
    state,
    created: agent.created ?? null,
  };
}

function rowCells({ agent, tools, missing, state }: Row): readonly Cell[] {
  return [
    agent.isAdmin ? `${agent.name} (admin)` : agent.name,
    agent.channel,
    agent.runtime,
    agent.runOn ?? { text: "every host", tone: "warn" },
    { text: state, tone: stateTone(state) },
    agent.userEmail ?? agent.ownerEmail ?? "",
    [...tools, ...missing.map((name) => `${name} (not in catalog)`)].join(", "),
  ];
}

function stateTone(state: string) {
  if (state === "active") return "good";
  return state.startsWith("failed") ? "bad" : "dim";
}
