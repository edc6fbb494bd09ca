/**
 * `fleetctl mcp wired <agent>`: the MCPs of an agent and the state of each. Changes nothing. Wired:
 * the config is written. Live: the running program has the MCP. The built-in runtime has what it
 * read at its start. For another program its own report decides, or the connection of the MCP
 * proxy.
 *
 * @module
 */

import { agentHere } from "cli/agent_here.ts";
import type { VerbContext } from "cli/context.ts";
import type { Gathered } from "cli/facts.ts";
import { missingKeys } from "cli/mcp/credentials.ts";
import { readHomeText } from "cli/home_text.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { readFacts } from "cli/planner.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { logHint } from "core/hints/log_hint.ts";
import type { AgentName, McpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { ServiceManager } from "units/manager/service_manager.ts";
import { ok, type Result } from "core/result.ts";
import {
  MCPS_FILE,
  MCPS_FILE_BYTES_MAX,
  parseReportedMcps,
  type ReportedMcps,
} from "core/dial/host_mcps.ts";
import { isFromCurrentRun } from "core/dial/host_state.ts";
import { fillPlaceholders, isBuiltIn } from "core/runtimes/definition.ts";
import { loadStateText, type McpLoadState } from "core/runtimes/mcp_load.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { isSameRun, parseRecord, type RecordedUnit, recordPath } from "units/reconcile/record.ts";
import { observeSockets } from "units/reconcile/observe_sockets.ts";
import { mcpSocketPath } from "units/render/mcp/socket.ts";
import { dialUnit, mcpSocketUnit } from "units/render/unit_name.ts";
import type { UnitStatus } from "core/ports/unit.ts";

/** Larger than a client config with hundreds of servers. */
const CLIENT_CONFIG_BYTES_MAX = 4 * 1024 * 1024;

/** No options: the agent is the context's target. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: the context already has the target. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/**
 * The progress of an MCP on an agent. `catalogued` means that the ledger lists it but `apply` has
 * not wired it yet.
 */
export type WiringState = "not catalogued" | "catalogued" | "wired" | "live";

/** One MCP that the ledger gives an agent. */
export interface WiredMcp {
  readonly name: McpName;
  readonly version: string;
  readonly sharing: string;
  readonly origin: "default" | "added";
  readonly missingKeys: readonly string[];
  readonly state: WiringState;
  /**
   * Load state in the running program if the runtime is not the built-in one. `unknown` until the
   * program or the MCP proxy has reported it.
   */
  readonly load: McpLoadState | "unknown" | undefined;
  /** Why it does not answer, in any state. */
  readonly fault:
    | ("keys missing" | "socket down" | "not applied" | "not in catalog" | "not loaded")
    | undefined;
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
  return (await wiredMcpsOf(context, gathered, [agent])).get(agent.name) ?? [];
}

/**
 * Returns the MCPs of several agents with one query to the service manager and one read of the
 * record.
 */
export async function wiredMcpsOf(
  context: VerbContext,
  gathered: Gathered,
  agents: readonly AgentRecord[],
): Promise<ReadonlyMap<AgentName, readonly WiredMcp[]>> {
  const { ports, paths } = context;
  const namesOf = (agent: AgentRecord) => gathered.facts.wired.get(agent.name) ?? [];
  const queried = new Set(agents.flatMap((agent) => [
    dialUnit(agent.name),
    ...namesOf(agent).flatMap((name) => {
      const manifest = gathered.catalog.entries.get(name);
      return manifest === undefined || manifest.transport === "http"
        ? []
        : [socketUnit(manifest, agent)];
    }),
  ]));
  const services: ServiceManager = ports.services(paths);
  const statuses = await services.isRunning() ? await services.status([...queried]) : [];
  const units = new Map(statuses.map((status) => [status.unit, status]));
  const sockets = agents.flatMap((agent) =>
    namesOf(agent).flatMap((name) => {
      const manifest = gathered.catalog.entries.get(name);
      if (manifest === undefined || manifest.transport === "http") return [];
      const owner = manifest.sharing === "shared" ? undefined : agent.name;
      return [{
        unit: socketUnit(manifest, agent),
        path: mcpSocketPath(paths, manifest.name, owner),
      }];
    })
  );
  const lost = await observeSockets(sockets, units, { files: ports.files, services });
  const record = parseRecord(await ports.files.readText(recordPath(paths)) ?? "");
  const found = new Map<AgentName, readonly WiredMcp[]>();
  for (const agent of agents) {
    const observed: Observed = {
      units,
      lost,
      agent,
      configText: await readClientConfig(context, gathered, agent),
      recorded: record?.units[dialUnit(agent.name)],
      loads: await readLoads(context, gathered, agent),
    };
    found.set(agent.name, namesOf(agent).map((name) => wiredMcp(name, gathered, observed)));
  }
  return found;
}

function wiredMcp(name: McpName, gathered: Gathered, observed: Observed): WiredMcp {
  const { agent } = observed;
  const manifest = gathered.catalog.entries.get(name);
  const missing = manifest === undefined
    ? []
    : missingKeys(gathered.secrets.shards, agent.name, manifest);
  const { state, load } = stateOf(manifest, observed);
  return {
    name,
    version: versionOf(manifest),
    sharing: manifest?.sharing ?? "",
    origin: agent.tools.add.includes(name) ? "added" : "default",
    missingKeys: missing,
    state,
    load,
    fault: faultOf(manifest, { state, load, missingKeys: missing, observed }),
  };
}

function versionOf(manifest: Manifest | undefined): string {
  if (manifest === undefined) return "";
  return "version" in manifest.source ? manifest.source.version : manifest.source.kind;
}

interface Observed {
  /** Dial units and sockets, by unit name. */
  readonly units: ReadonlyMap<string, UnitStatus>;
  /** Unreachable sockets whose unit is active, by unit name. */
  readonly lost: ReadonlyMap<string, string>;
  readonly configText: string | undefined;
  /** The planner's record of the dial unit from its last run. */
  readonly recorded: RecordedUnit | undefined;
  /** What the running program reported; undefined for the built-in runtime. */
  readonly loads: ReportedMcps | "none" | undefined;
  readonly agent: AgentRecord;
}

/** Reads the report about the program's MCPs that the dial unit wrote. */
async function readLoads(
  context: VerbContext,
  gathered: Gathered,
  agent: AgentRecord,
): Promise<Observed["loads"]> {
  const definition = gathered.definitions.byName.get(agent.runtime);
  if (definition === undefined || isBuiltIn(definition)) return undefined;
  const path = `${context.paths.dialState(agent.name)}/${MCPS_FILE}`;
  const text = await readHomeText(context, agent.name, { path, bytesMax: MCPS_FILE_BYTES_MAX });
  return parseReportedMcps(text ?? "") ?? "none";
}

async function readClientConfig(context: VerbContext, gathered: Gathered, agent: AgentRecord) {
  const { paths } = context;
  const definition = gathered.definitions.byName.get(agent.runtime);
  if (definition === undefined) return undefined;
  const path = fillPlaceholders(definition.clientConfig.path, {
    lib: paths.lib,
    home: paths.home(agent.name),
    agent: agent.name,
  });
  return await readHomeText(context, agent.name, { path, bytesMax: CLIENT_CONFIG_BYTES_MAX });
}

function socketUnit(manifest: Manifest, agent: AgentRecord): string {
  return mcpSocketUnit(manifest.name, manifest.sharing === "shared" ? undefined : agent.name);
}

/**
 * Returns the state from the planner's record of which process runs with which entries, so that
 * neither a clock change nor another MCP affects it. A process with these entries is live if it is
 * the built-in runtime. Another program must have reported the MCP as connected.
 */
function stateOf(
  manifest: Manifest | undefined,
  observed: Observed,
): Pick<WiredMcp, "state" | "load"> {
  const only = (state: WiringState) => ({ state, load: undefined });
  if (manifest === undefined) return only("not catalogued");
  const { configText, recorded, units, agent, loads } = observed;
  if (configText === undefined || !configText.includes(`"${manifest.name}"`)) {
    return only("catalogued");
  }
  const dial = units.get(dialUnit(agent.name));
  if (dial?.active !== "active" || recorded === undefined) return only("wired");
  const run = { pid: dial.mainPid, since: dial.since };
  const isRead = !isSameRun(recorded.stale, run) ||
    recorded.unread?.includes(manifest.name) === false;
  if (!isRead) return only("wired");
  if (loads === undefined) return only("live");
  const states = loads !== "none" && isFromCurrentRun(loads.startedMs, dial)
    ? loads.states
    : new Map();
  const load: WiredMcp["load"] = states.get(manifest.name) ?? "unknown";
  return { state: load === "connected" ? "live" : "wired", load };
}

function faultOf(
  manifest: Manifest | undefined,
  of: {
    readonly state: WiringState;
    readonly load: WiredMcp["load"];
    readonly missingKeys: readonly string[];
    readonly observed: Observed;
  },
): WiredMcp["fault"] {
  if (manifest === undefined) return "not in catalog";
  if (of.state === "catalogued") return "not applied";
  if (of.missingKeys.length > 0) return "keys missing";
  const lost = of.load !== undefined && !HEALTHY_LOADS.includes(of.load) ? "not loaded" : undefined;
  if (manifest.transport === "http") return lost;
  const unit = socketUnit(manifest, of.observed.agent);
  const socket = of.observed.units.get(unit);
  const isDown = socket !== undefined && socket.active !== "active";
  return isDown || of.observed.lost.has(unit) ? "socket down" : lost;
}

/** Load states without a fault: connected, or possibly soon. */
const HEALTHY_LOADS: readonly WiredMcp["load"][] = ["connected", "pending", "unknown"];

/** Refuses because the running program of an agent has not loaded an MCP. */
export function notLoaded(
  { name, load = "unknown" }: WiredMcp,
  { agent, paths }: { readonly agent: AgentName; readonly paths: Paths },
): Refusal {
  const reason = load === "unknown" ? "it has not reported it yet" : loadStateText(load);
  return refusal(
    "mcp-not-loaded",
    `The running program of agent "${agent}" has not loaded MCP "${name}": ${reason}`,
    { hints: [logHint(paths, dialUnit(agent)), `fleetctl agents restart ${agent}`] },
  );
}

/** Returns the text beside the state: the fault with its reason, or the program's progress. */
function stateDetail({ fault, missingKeys: missing, load }: WiredMcp): string {
  if (fault === "not loaded" && load !== undefined && load !== "unknown") {
    return `, ${fault}: ${loadStateText(load)}`;
  }
  if (fault !== undefined) {
    return `, ${fault}${missing.length === 0 ? "" : `: ${missing.join(", ")}`}`;
  }
  if (load === "pending") return `, ${loadStateText(load)}`;
  return load === "unknown" ? ", not reported by the program" : "";
}

function wiredJson(mcp: WiredMcp) {
  const { missingKeys: missing, fault, load, ...rest } = mcp;
  return { ...rest, fault: fault ?? null, missing_keys: missing, load: load ?? null };
}

function wiredCells(mcp: WiredMcp): readonly Cell[] {
  return [mcp.name, mcp.version, mcp.sharing, mcp.origin, {
    text: mcp.state === "not catalogued" ? mcp.state : `${mcp.state}${stateDetail(mcp)}`,
    tone: mcp.fault !== undefined ? "bad" : mcp.state === "live" ? "good" : "dim",
  }];
}
