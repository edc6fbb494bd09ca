/**
 * `fleetctl mcp wired <agent>`: the MCPs of an agent and the state of each. Changes nothing.
 * States: spec "MCP on an agent" (wired: the config is written, and the agent has not restarted
 * since; live: it has).
 *
 * @module
 */

import { agentHere } from "cli/agent_here.ts";
import type { VerbContext } from "cli/context.ts";
import type { Gathered } from "cli/facts.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { readFacts } from "cli/planner.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { McpName } from "core/names.ts";
import type { ServiceManager, UnitStatus } from "core/ports.ts";
import { ok, type Result } from "core/result.ts";
import { fillPlaceholders } from "core/runtimes/definition.ts";
import { unresolvedKeys } from "core/secrets/resolve.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { dialUnit, mcpSocketUnit } from "units/render/unit_name.ts";

/** The agent is the context's target. */
export type Options = Readonly<Record<never, never>>;

/** Parses nothing: the target is settled before. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/** One wired MCP. */
export interface WiredMcp {
  readonly name: McpName;
  readonly version: string;
  readonly sharing: string;
  readonly origin: "default" | "added";
  readonly missingKeys: readonly string[];
  readonly state:
    | "live"
    | "wired"
    | "keys missing"
    | "socket down"
    | "not applied"
    | "not in catalog";
}

/** Reads facts and units. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const gathered = await readFacts(context);
  if (!gathered.ok) return gathered;
  const agent = await agentHere(context, gathered.value.ledger);
  if (!agent.ok) return agent;
  const wired = await wiredMcps(context, gathered.value, agent.value);
  return ok({
    json: { agent: agent.value.name, mcps: wired.map(wiredJson) },
    blocks: [{
      kind: "table",
      columns: ["mcp", "version", "sharing", "origin", "state"],
      rows: wired.map(wiredCells),
      empty: `Agent "${agent.value.name}" has no MCPs: fleetctl mcp add <mcp> ${agent.value.name}`,
    }],
  });
}

/** Returns the MCPs of an agent with their states. */
export async function wiredMcps(
  context: VerbContext,
  gathered: Gathered,
  agent: AgentRecord,
): Promise<readonly WiredMcp[]> {
  const names = gathered.facts.wired.get(agent.name) ?? [];
  const observed = await observe(context, gathered, agent, names);
  return names.map((name) => {
    const manifest = gathered.catalog.entries.get(name);
    const missingKeys = manifest === undefined
      ? []
      : unresolvedKeys(gathered.secrets.shards, agent.name, manifest.requiredEnv);
    return {
      name,
      version: manifest === undefined
        ? ""
        : "version" in manifest.source
        ? manifest.source.version
        : manifest.source.kind,
      sharing: manifest?.sharing ?? "",
      origin: agent.tools.add.includes(name) ? "added" : "default",
      missingKeys,
      state: stateOf(manifest, missingKeys, observed),
    };
  });
}

interface Observed {
  readonly sockets: ReadonlyMap<string, UnitStatus>;
  /** When the socket unit of an MCP was last written: it is older than an agent that knows it. */
  readonly writtenMs: ReadonlyMap<string, number>;
  readonly config: { readonly text: string; readonly mtimeMs: number } | undefined;
  readonly dial: UnitStatus | undefined;
  readonly agent: AgentRecord;
}

async function observe(
  context: VerbContext,
  gathered: Gathered,
  agent: AgentRecord,
  names: readonly McpName[],
): Promise<Observed> {
  const { ports, paths } = context;
  const sockets = names.flatMap((name) => {
    const manifest = gathered.catalog.entries.get(name);
    return manifest === undefined || manifest.transport === "http"
      ? []
      : [socketUnit(manifest, agent)];
  });
  const services: ServiceManager = ports.services(paths);
  const statuses = await services.isRunning()
    ? await services.status([...sockets, dialUnit(agent.name)])
    : [];
  const byUnit = new Map(statuses.map((status) => [status.unit, status]));
  const writtenMs = new Map<string, number>();
  for (const unit of sockets) {
    const stat = await ports.files.stat(`${paths.units}/${unit}`);
    if (stat !== undefined) writtenMs.set(unit, stat.mtimeMs);
  }
  return {
    sockets: byUnit,
    writtenMs,
    dial: byUnit.get(dialUnit(agent.name)),
    config: await readClientConfig(context, gathered, agent),
    agent,
  };
}

async function readClientConfig(context: VerbContext, gathered: Gathered, agent: AgentRecord) {
  const { ports, paths } = context;
  const definition = gathered.definitions.byName.get(agent.runtime);
  if (definition === undefined) return undefined;
  const path = fillPlaceholders(definition.clientConfig.path, {
    lib: paths.lib,
    home: paths.home(agent.name),
    agent: agent.name,
  });
  const stat = await ports.files.stat(path);
  const text = await ports.files.readText(path);
  return stat === undefined || text === undefined ? undefined : { text, mtimeMs: stat.mtimeMs };
}

function socketUnit(manifest: Manifest, agent: AgentRecord): string {
  return mcpSocketUnit(manifest.name, manifest.sharing === "shared" ? undefined : agent.name);
}

function stateOf(
  manifest: Manifest | undefined,
  missingKeys: readonly string[],
  observed: Observed,
): WiredMcp["state"] {
  if (manifest === undefined) return "not in catalog";
  const { config, dial, sockets, writtenMs, agent } = observed;
  if (config === undefined || !config.text.includes(`"${manifest.name}"`)) return "not applied";
  if (missingKeys.length > 0) return "keys missing";
  if (manifest.transport !== "http") {
    const socket = sockets.get(socketUnit(manifest, agent));
    if (socket !== undefined && socket.active !== "active") return "socket down";
  }
  if (dial?.active !== "active" || dial.since === undefined) return "wired";
  const wiredMs = writtenMs.get(socketUnit(manifest, agent)) ?? config.mtimeMs;
  return dial.since >= wiredMs ? "live" : "wired";
}

function wiredJson(mcp: WiredMcp) {
  const { missingKeys, ...rest } = mcp;
  return { ...rest, missing_keys: missingKeys };
}

function wiredCells(mcp: WiredMcp): readonly Cell[] {
  const keys = mcp.missingKeys.length === 0 ? "" : `: ${mcp.missingKeys.join(", ")}`;
  return [mcp.name, mcp.version, mcp.sharing, mcp.origin, {
    text: `${mcp.state}${keys}`,
    tone: mcp.state === "live" ? "good" : mcp.state === "wired" ? "dim" : "bad",
  }];
}
