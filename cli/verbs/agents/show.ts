/**
 * `fleetctl agents show <agent|self>`: one agent with its data from the ledger, the service manager
 * and the gateway. Changes nothing. Prints names of secrets, never a value.
 *
 * @module
 */

import { limitsJson, limitsText } from "cli/agents/limit_options.ts";
import { recordJson } from "cli/agents/record_json.ts";
import { agentStates, sinceText, stateCell, stateJson } from "cli/agents/states.ts";
import { agentHere } from "cli/agent_here.ts";
import { type Connection, connectionOf } from "cli/connection.ts";
import type { VerbContext } from "cli/context.ts";
import { type WiredMcp, wiredMcps } from "cli/verbs/mcp/wired.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { readFacts } from "cli/planner.ts";
import type { HostLimits } from "core/limits/agent.ts";
import type { HostState } from "core/dial/host_state.ts";
import type { AgentRecord, AskMode } from "core/ledger/agent.ts";
import { ok, type Result } from "core/result.ts";
import { defaultAskMode } from "core/risk/builtin_tools.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { workspaceOf } from "units/reconcile/facts.ts";
import { dialUnit } from "units/render/unit_name.ts";

/** No options: the agent is the context's target. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: the context already has the target. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

interface Shown {
  readonly agent: AgentRecord;
  readonly state: HostState;
  readonly connection: Connection;
  readonly mcps: readonly WiredMcp[];
  readonly secrets: readonly string[];
  /** The limits of this host; undefined when none are enforced. */
  readonly limits: HostLimits | undefined;
  /** Its working folder; if that cannot be used, the one in the record. */
  readonly workspace: string;
  /** What it asks about; undefined when its runtime has no definition here. */
  readonly ask: AskMode | undefined;
}

/** Reads facts, units and the gateway's list. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const gathered = await readFacts(context);
  if (!gathered.ok) return gathered;
  const found = await agentHere(context, gathered.value.ledger);
  if (!found.ok) return found;
  const agent = found.value;
  const states = await agentStates(context, [agent]);
  const { facts } = gathered.value;
  const workspace = workspaceOf(agent, facts);
  const runtime = facts.runtimes.get(agent.runtime);
  const shown: Shown = {
    agent,
    state: states.get(agent.name) ?? { state: "stopped", reason: undefined, sinceMs: undefined },
    connection: await connectionOf(context, gathered.value.roles, agent),
    mcps: await wiredMcps(context, gathered.value, agent),
    limits: facts.limits,
    workspace: workspace.ok ? workspace.value : agent.workspace ?? facts.workspace,
    ask: agent.ask ?? (runtime === undefined ? undefined : defaultAskMode(runtime)),
    secrets: [...gathered.value.secrets.shards.agents.get(agent.name)?.keys() ?? []].sort(),
  };
  return ok({
    json: shownJson(shown),
    blocks: [
      { kind: "table", columns: ["", ""], rows: rowsOf(shown), empty: "" },
      {
        kind: "table",
        columns: ["mcp", "version", "state"],
        rows: shown.mcps.map(({ name, version, state, fault }) => [name, version, fault ?? state]),
        empty: `Agent "${agent.name}" has no MCPs: fleetctl mcp add <mcp> ${agent.name}`,
      },
    ],
  });
}

function rowsOf(
  { agent, state, connection, secrets, limits, workspace, ask }: Shown,
): readonly (readonly Cell[])[] {
  const rows: readonly (readonly [string, Cell | undefined])[] = [
    ["name", agent.isAdmin ? `${agent.name} (admin)` : agent.name],
    ["state", stateCell(state)],
    ["since", sinceText(state)],
    ["gateway", connectionText(connection)],
    ["unit", dialUnit(agent.name)],
    ["channel", agent.channel],
    ["user", agent.userEmail],
    ["owner", agent.ownerEmail ?? agent.ownerAad],
    ["runtime", agent.runtime],
    ["model", [agent.provider, agent.model].filter((part) => part !== undefined).join(" ")],
    ["runs on", agent.runOn ?? "every host"],
    ["workspace", workspace],
    ["asks", agent.ask ?? (ask === undefined ? undefined : `${ask} (default of its runtime)`)],
    ["asks for", agent.askTime],
    ["worktrees", worktreesText(agent)],
    ["ceiling", agent.ceiling],
    ["sandbox", sandboxText(agent, state)],
    ["persona", personaText(agent.persona)],
    ["limits", limitsText(agent.limits, limits)],
    ["created", agent.created],
    ["dial keys", agent.dialKeys === undefined ? "none yet" : String(agent.dialKeys.length)],
    ["secrets", secrets.join(", ")],
  ];
  return rows.flatMap(([name, value]): readonly (readonly Cell[])[] =>
    value === undefined || value === "" ? [] : [[name, value]]
  );
}

function worktreesText({ worktrees, setup }: AgentRecord): string | undefined {
  if (worktrees !== "yes") return worktrees;
  return setup === undefined ? "yes" : `yes, prepared by ${setup}`;
}

/** Returns which sandbox is in force, which may differ from the record. */
function sandboxText({ sandbox, sandboxNetwork }: AgentRecord, state: HostState) {
  const running = state.sandbox;
  if (sandbox !== "on") return running === undefined ? sandbox : "on until the agent restarts";
  if (running === undefined) return `on, not in force (the agent is ${state.state})`;
  if (running.fault !== undefined) return `not possible, commands are refused: ${running.fault}`;
  return sandboxNetwork === "all" ? "on, with the network" : "on, without a network";
}

/** Characters of a persona that the table shows. */
const PERSONA_LENGTH_MAX = 60;

/** A persona can have many lines; the JSON has all of them. */
function personaText(persona: string | undefined): string | undefined {
  const [line = ""] = persona?.split("\n") ?? [];
  if (persona === undefined || persona === line.slice(0, PERSONA_LENGTH_MAX)) return persona;
  return `${line.slice(0, PERSONA_LENGTH_MAX).trimEnd()} … (${persona.length} characters)`;
}

function connectionText(connection: Connection): string {
  return connection.state === "not connected" ? `offline: ${connection.reason}` : connection.state;
}

function shownJson({ agent, state, connection, mcps, secrets, limits, workspace, ask }: Shown) {
  return {
    name: agent.name,
    ...stateJson(state),
    gateway: connection.state,
    unit: dialUnit(agent.name),
    ...recordJson(agent),
    workspace_folder: workspace,
    ask_in_force: ask ?? null,
    sandbox_in_force: state.sandbox !== undefined && state.sandbox.fault === undefined,
    sandbox_fault: state.sandbox?.fault ?? null,
    limits_in_force: limitsJson(agent.limits, limits),
    tools: agent.tools,
    created: agent.created ?? null,
    stopped: agent.stopped ?? null,
    dial_keys: agent.dialKeys ?? null,
    mcps: mcps.map(({ name, version, state: mcpState, fault }) => ({
      name,
      version,
      state: mcpState,
      fault: fault ?? null,
    })),
    secrets,
  };
}
