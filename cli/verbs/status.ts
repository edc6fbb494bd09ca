/**
 * `fleetctl status`: the host on one screen, its problems, and the next command for each. An
 * operator sees the host, an agent sees itself. Changes nothing: its reconcile is a dry run.
 *
 * @module
 */

import { cachedStatus } from "cli/cached_status.ts";
import { programWarnings } from "cli/agents/program_warnings.ts";
import { sandboxProblems } from "cli/agents/sandbox_problems.ts";
import { storageProblem } from "cli/agent_storage.ts";
import { agentStates, stateCell as agentStateCell, stateJson } from "cli/agents/states.ts";
import { type Connection, connectionsOf } from "cli/connection.ts";
import type { VerbContext } from "cli/context.ts";
import { diskProblems } from "cli/disk_room.ts";
import type { Gathered } from "cli/facts.ts";
import { oldVersionRuns } from "cli/status/old_version.ts";
import { withLocalHints } from "core/hints/local_hints.ts";
import { type WiredMcp, wiredMcpsOf } from "cli/verbs/mcp/wired.ts";
import type { Block, Cell, VerbReport } from "cli/output.ts";
import { readFacts, reconcileFacts, uniqueFaults } from "cli/planner.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import { isReceiverSeparate } from "core/teamchat/separate_receiver.ts";
import { callerAgent, seesHost } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { type Cause, findCauses } from "cli/status/causes.ts";
import { frontProblems } from "cli/status/front_certificate.ts";
import { hostCeilingProblems } from "cli/status/host_ceilings.ts";
import { exitOf, problemJson } from "cli/status/level.ts";
import {
  type AgentLine,
  agentProblem,
  connectionProblem,
  hostKeyProblem,
  isRoleDown,
  noManager,
  type RoleLine,
  roleProblem,
  unreachedUnits,
} from "cli/status/problems.ts";
import { describeState, wrongPaths } from "units/reconcile/own_state.ts";
import {
  DAEMON_UNIT,
  GATEWAY_UNIT,
  HOST_UNIT,
  LOGIN_UNIT,
  TEAMCHAT_RECEIVER_UNIT,
  TEAMCHAT_UNIT,
} from "units/render/unit_name.ts";
import type { UnitStatus } from "core/ports/unit.ts";

/** A service that has run this long no longer fails right after its start. */
const STEADY_MS = 30_000;

/** `fleetctl status` has no options. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: there are none. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/** Reads facts and units, and reconciles as a dry run. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const gathered = await readFacts(context);
  if (!gathered.ok) return ok(await unreadable(context, gathered.error));
  const shown = await observeHost(context, gathered.value);
  return ok({
    json: statusJson(context, shown),
    blocks: statusBlocks(context, { ...shown, isHost: seesHost(context.caller) }),
    exit: exitOf(shown.problems),
  });
}

/** Returns the roles and agents that the caller may see, and their problems. */
export async function observeHost(outer: VerbContext, gathered: Gathered): Promise<Shown> {
  const services = cachedStatus(outer.ports.services(outer.paths));
  const context = { ...outer, ports: { ...outer.ports, services: () => services } };
  const isHost = seesHost(context.caller);
  const own = callerAgent(context.caller);
  const agents = isHost
    ? gathered.facts.agents
    : gathered.facts.agents.filter((agent) => agent.name === own);
  const fronts = isHost ? frontProblems(context, gathered) : Promise.resolve([]);
  const isManaged = await services.isRunning();
  // The planner queries every unit of this host, so later steps find them in the cache.
  const pending = isHost ? await planProblems(context, gathered) : [];
  const roles = isHost && isManaged ? await roleLines(context, gathered) : [];
  const states = await agentStates(context, agents);
  const mcps = await wiredMcpsOf(context, gathered, agents);
  const connections = isManaged
    ? await connectionsOf(context, gatewayOf(gathered), agents)
    : new Map<AgentName, Connection>();
  const lines = agents.map((agent): AgentLine => ({
    agent,
    state: states.get(agent.name) ?? { state: "stopped", reason: undefined, sinceMs: undefined },
    connection: connections.get(agent.name) ?? { state: "unknown" },
    mcps: mcps.get(agent.name) ?? [],
  }));
  const isGatewayDown = roles.some((one) => one.role === "gateway" && one.state !== "active");
  const down = [...roles.filter(isRoleDown).map(({ unit }) => unit), ...unreachedUnits(lines)];
  const causes = isManaged ? await findCauses(context, down) : new Map<string, Cause>();
  const problemContext = { paths: context.paths, hostname: context.ports.hostname, causes };
  const problems = uniqueFaults([
    ...(isManaged ? [] : [noManager(context)]),
    ...(isHost
      ? [...await diskProblems(context), ...await stateProblems(context), ...gathered.faults]
      : []),
    ...(isHost ? await hostCeilingProblems(context) : []),
    ...pending,
    ...roles.flatMap((line) => roleProblem(line, problemContext)),
    ...(isHost ? hostKeyProblem(context, gathered) : []),
    ...await fronts,
    ...(await Promise.all(
      agents.map((agent) => programWarnings(context.ports.files, gathered.facts, agent)),
    )).flat(),
    ...lines.flatMap((line) => isManaged ? agentProblem(line, problemContext) : []),
    ...lines.flatMap(({ agent, state }) => sandboxProblems(agent, state, gathered.facts)),
    ...lines.flatMap((line) => isGatewayDown ? [] : connectionProblem(line, problemContext)),
    ...lines.flatMap(({ agent, connection: { storage } }) =>
      storage === undefined ? [] : storageProblem(context, { agent: agent.name, storage })
    ),
  ]);
  return { roles, lines, problems };
}

/** Returns the status of a host whose facts cannot be read: the reason, and what to run. */
async function unreadable(context: VerbContext, why: Refusal): Promise<VerbReport> {
  const isHost = seesHost(context.caller);
  const around = isHost ? [...await diskProblems(context), ...await stateProblems(context)] : [];
  const problems = [...around, why];
  const shown = { roles: [], lines: [], problems };
  return {
    exit: exitOf(problems),
    json: statusJson(context, shown),
    blocks: [
      { kind: "lines", lines: [headLine(context)] },
      { kind: "lines", lines: problemLines(problems, context) },
    ],
  };
}

/** Returns the gateway to which the agents of this host connect. */
function gatewayOf({ roles, facts }: Gathered) {
  return { roles, registerUrl: facts.roles.host?.registerUrl };
}

/** Problems with owners and modes of the product's own files. */
async function stateProblems({ ports, paths }: VerbContext): Promise<readonly Refusal[]> {
  return await describeState(ports, await wrongPaths(ports, paths));
}

async function roleLines(
  context: VerbContext,
  { roles, facts }: Gathered,
): Promise<readonly RoleLine[]> {
  const wanted = [
    ...(roles.isDaemonHere ? [["daemon", DAEMON_UNIT] as const] : []),
    ...(roles.gateway === undefined ? [] : [["gateway", GATEWAY_UNIT] as const]),
    ...(facts.roles.host === undefined ? [] : [["host", HOST_UNIT] as const]),
    ...(roles.login === undefined ? [] : [["login", LOGIN_UNIT] as const]),
    ...(roles.teamchat === undefined ? [] : [["teamchat", TEAMCHAT_UNIT] as const]),
    ...(roles.teamchat !== undefined && isReceiverSeparate(roles.teamchat)
      ? [["teamchat-receiver", TEAMCHAT_RECEIVER_UNIT] as const]
      : []),
  ];
  if (wanted.length === 0) return [];
  const services = context.ports.services(context.paths);
  const statuses = await services.status(wanted.map(([, unit]) => unit));
  return await Promise.all(wanted.map(async ([role, unit]) => {
    const status: UnitStatus | undefined = statuses.find((one) => one.unit === unit);
    if (status === undefined || status.load !== "loaded") {
      return { role, unit, state: "not installed", reason: "" };
    }
    const { active, reason = "" } = status;
    // A unit that fails repeatedly is active between its failures.
    const isDoubtful = active === "active" && status.restarts > 0 &&
      context.ports.clock.now() - (status.since ?? 0) < STEADY_MS;
    return isDoubtful && await services.isReady?.(unit) === false
      ? { role, unit, state: "starting", reason: `started again ${status.restarts} times` }
      : { role, unit, state: active, reason };
  }));
}

/** What the planner would change, and what it could not: differences between host and ledger. */
async function planProblems(context: VerbContext, gathered: Gathered): Promise<readonly Refusal[]> {
  const quiet = { ...context, progress: { step() {}, note() {}, clear() {} } };
  const report = await reconcileFacts(quiet, gathered, { dryRun: true, restartAgents: false });
  if (!report.ok) return [report.error];
  const { files, units, vendored, faults, found, waiting } = report.value;
  const count = files.filter((file) => file.change !== "unchanged").length + units.length +
    vendored.length;
  return [
    ...found,
    ...faults,
    ...waiting.map(oldVersionRuns),
    ...(count === 0 ? [] : [refusal(
      "host-differs",
      `This host differs from its ledger: ${count} changes are pending`,
      { hints: ["fleetctl apply --dry-run", "fleetctl apply"] },
    )]),
  ];
}

/** The observed state. */
export interface Shown {
  readonly roles: readonly RoleLine[];
  readonly lines: readonly AgentLine[];
  readonly problems: readonly Refusal[];
}

function statusJson(context: VerbContext, { roles, lines, problems }: Shown) {
  return {
    version: context.version,
    hostname: context.ports.hostname,
    root: context.paths.root,
    roles,
    agents: lines.map(({ agent, state, connection, mcps }) => ({
      name: agent.name,
      channel: agent.channel,
      runtime: agent.runtime,
      ...stateJson(state),
      gateway: connection.state,
      mcps: mcps.map(({ name, version, state: wiring, fault }) => ({
        name,
        version,
        state: wiring,
        fault: fault ?? null,
      })),
    })),
    problems: problems.map(problemJson),
    ok: problems.length === 0,
  };
}

function statusBlocks(
  context: VerbContext,
  { roles, lines, problems, isHost }: Shown & { readonly isHost: boolean },
): readonly Block[] {
  return [
    { kind: "lines", lines: [headLine(context)] },
    ...(isHost && roles.length > 0
      ? [{
        kind: "table" as const,
        columns: ["role", "state", "reason"],
        rows: roles.map(({ role, state, reason }) => [role, stateCell(state), reason]),
        empty: "",
      }]
      : []),
    {
      kind: "table",
      columns: ["agent", "channel", "runtime", "state", "gateway", "mcps"],
      rows: lines.map(({ agent, state, connection, mcps }) => [
        agent.name,
        agent.channel,
        agent.runtime,
        agentStateCell(state),
        connectionCell(connection),
        mcps.map(mcpText).join(", "),
      ]),
      empty: "There are no agents on this host: fleetctl agents add <name> --channel webview",
    },
    { kind: "lines", lines: problemLines(problems, context) },
  ];
}

function headLine({ version, ports, paths }: VerbContext): string {
  return `fleetctl ${version} on ${ports.hostname}` +
    (paths.root === "/" ? "" : `, root ${paths.root}`);
}

/** `git 2.15.3`, `browser 0.0.83 (wired)`. Built-in servers have the version of the product. */
function mcpText({ name, version, state, fault }: WiredMcp): string {
  const pin = /^\d/.test(version) ? `${name} ${version}` : name;
  const how = fault ?? state;
  return how === "live" ? pin : `${pin} (${how})`;
}

function problemLines(
  problems: readonly Refusal[],
  { env }: Pick<VerbContext, "env">,
): readonly Cell[] {
  if (problems.length === 0) return [{ text: "nothing is wrong", tone: "good" }];
  return problems.flatMap((problem): readonly Cell[] => [
    { text: `! ${problem.message}`, tone: "bad" },
    ...problem.details.map((line) => `    ${line}`),
    ...withLocalHints(problem, env).hints.map((line) => `    ${line}`),
  ]);
}

function connectionCell({ state }: Connection): Cell {
  if (state === "connected") return { text: state, tone: "good" };
  return { text: state, tone: state === "not connected" ? "bad" : "dim" };
}

function stateCell(state: string): Cell {
  if (state === "active") return { text: state, tone: "good" };
  return { text: state, tone: state.startsWith("failed") ? "bad" : "warn" };
}
