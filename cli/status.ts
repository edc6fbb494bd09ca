/**
 * `fleetctl status`: the host on one screen, what is wrong with it, and the next command for each.
 * An operator sees the host, an agent itself. Changes nothing; the planner runs dry.
 *
 * @module
 */

import { askedOnce } from "cli/asked_once.ts";
import { storageProblem } from "cli/agent_storage.ts";
import { agentStates, stateCell as agentStateCell, stateJson } from "cli/agents/states.ts";
import { type Connection, connectionOf } from "cli/connection.ts";
import type { VerbContext } from "cli/context.ts";
import { diskProblems } from "cli/disk_room.ts";
import type { Gathered } from "cli/facts.ts";
import { dials } from "cli/first_keys.ts";
import { withLocalHints } from "core/local_hints.ts";
import { type WiredMcp, wiredMcpsOf } from "cli/mcp/wired.ts";
import type { Block, Cell, VerbReport } from "cli/output.ts";
import { readFacts, reconcileFacts, uniqueFaults } from "cli/planner.ts";
import { editHint } from "core/edit_hint.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { logHint } from "core/log_hint.ts";
import type { Paths } from "core/paths.ts";
import type { HostState } from "core/dial/host_state.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { UnitStatus } from "core/ports.ts";
import { ok, type Result } from "core/result.ts";
import { isReceiverApart } from "core/teamchat/halves.ts";
import { callerAgent, seesHost } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import {
  DAEMON_UNIT,
  dialUnit,
  GATEWAY_UNIT,
  HOST_UNIT,
  LOGIN_UNIT,
  TEAMCHAT_RECEIVER_UNIT,
  TEAMCHAT_UNIT,
} from "units/render/unit_name.ts";

/** `fleetctl status` takes no options. */
export type Options = Readonly<Record<never, never>>;

/** Parses nothing. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

interface RoleLine {
  readonly role: string;
  readonly unit: string;
  readonly state: string;
  readonly reason: string;
}

interface AgentLine {
  readonly agent: AgentRecord;
  readonly state: HostState;
  readonly connection: Connection;
  readonly mcps: readonly WiredMcp[];
}

/** Reads facts and units, and tries the planner. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const gathered = await readFacts(context);
  if (!gathered.ok) return ok(unreadable(context, gathered.error));
  const shown = await lookAround(context, gathered.value);
  return ok({
    json: statusJson(context, shown),
    blocks: statusBlocks(context, { ...shown, isHost: seesHost(context.caller) }),
  });
}

/** Returns roles and agents as far as the caller may see them, and what is wrong with them. */
export async function lookAround(outer: VerbContext, gathered: Gathered): Promise<Shown> {
  const services = askedOnce(outer.ports.services(outer.paths));
  const context = { ...outer, ports: { ...outer.ports, services: () => services } };
  const isHost = seesHost(context.caller);
  const own = callerAgent(context.caller);
  const agents = isHost
    ? gathered.facts.agents
    : gathered.facts.agents.filter((agent) => agent.name === own);
  const isManaged = await services.isRunning();
  // The planner asks for every unit of this host, so what comes after it asks no more.
  const pending = isHost ? await planProblems(context, gathered) : [];
  const roles = isHost && isManaged ? await roleLines(context, gathered) : [];
  const states = await agentStates(context, agents);
  const mcps = await wiredMcpsOf(context, gathered, agents);
  const lines = await Promise.all(agents.map(async (agent): Promise<AgentLine> => ({
    agent,
    state: states.get(agent.name) ?? { state: "stopped", reason: undefined, sinceMs: undefined },
    connection: isManaged
      ? await connectionOf(context, gathered.roles, agent)
      : { state: "unknown" },
    mcps: mcps.get(agent.name) ?? [],
  })));
  const isGatewayDown = roles.some((one) => one.role === "gateway" && one.state !== "active");
  const problems = uniqueFaults([
    ...(isManaged ? [] : [noManager(context)]),
    ...(isHost ? [...await diskProblems(context), ...gathered.faults] : []),
    ...pending,
    ...roles.flatMap((line) => roleProblem(line, context.paths)),
    ...(isHost ? hostKeyProblem(context, gathered) : []),
    ...lines.flatMap((line) => isManaged ? agentProblem(line, context.paths) : []),
    ...lines.flatMap((line) => isGatewayDown ? [] : connectionProblem(line, context.paths)),
    ...lines.flatMap(({ agent, connection: { storage } }) =>
      storage === undefined ? [] : storageProblem(context, { agent: agent.name, storage })
    ),
  ]);
  return { roles, lines, problems };
}

/** A host whose facts cannot be read still has a status: why, and what to run. */
function unreadable(context: VerbContext, why: Refusal): VerbReport {
  const shown = { roles: [], lines: [], problems: [why] };
  return {
    json: statusJson(context, shown),
    blocks: [
      { kind: "lines", lines: [headLine(context)] },
      { kind: "lines", lines: problemLines([why], context) },
    ],
  };
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
    ...(roles.teamchat !== undefined && isReceiverApart(roles.teamchat)
      ? [["teamchat-receiver", TEAMCHAT_RECEIVER_UNIT] as const]
      : []),
  ];
  if (wanted.length === 0) return [];
  const statuses = await context.ports.services(context.paths).status(
    wanted.map(([, unit]) => unit),
  );
  return wanted.map(([role, unit]) => {
    const status: UnitStatus | undefined = statuses.find((one) => one.unit === unit);
    const isThere = status !== undefined && status.load === "loaded";
    return {
      role,
      unit,
      state: isThere ? status.active : "not installed",
      reason: isThere ? status.reason ?? "" : "",
    };
  });
}

/** What the planner would do, and what it could not: a host that differs from its ledger. */
async function planProblems(context: VerbContext, gathered: Gathered): Promise<readonly Refusal[]> {
  const quiet = { ...context, progress: { step() {}, note() {}, clear() {} } };
  const report = await reconcileFacts(quiet, gathered, { dryRun: true, restartAgents: false });
  if (!report.ok) return [report.error];
  const { files, units, vendored, faults } = report.value;
  const count = files.filter((file) => file.change !== "unchanged").length + units.length +
    vendored.length;
  return [
    ...faults,
    ...(count === 0 ? [] : [refusal(
      "host-differs",
      `This host differs from its ledger: ${count} changes are pending`,
      { hints: ["fleetctl apply --dry-run", "fleetctl apply"] },
    )]),
  ];
}

function roleProblem(
  { role, unit, state, reason }: RoleLine,
  paths: Paths,
): readonly Refusal[] {
  if (state === "active") return [];
  const why = reason === "" ? "" : ` (${reason})`;
  return [refusal("role-down", `The ${role} is ${state}${why}, must be active`, {
    hints: state === "not installed" ? ["fleetctl apply"] : [
      logHint(paths, unit),
      // A program ends with 2 when a setting of it is unusable: its log names which.
      ...(reason.endsWith("exit-code 2") ? [editHint(paths.rolesFile)] : []),
    ],
  })];
}

/** The own unit of a host is let in with an enrolled key only, which nobody enrolls twice by itself. */
function hostKeyProblem(context: VerbContext, gathered: Gathered): readonly Refusal[] {
  const { hostname } = context.ports;
  const { hosts, hostDialKey: key, facts } = gathered;
  const enrolled = hosts.hosts.get(hostname)?.dialKeys;
  if (facts.roles.host === undefined || key === undefined || enrolled?.includes(key)) return [];
  const found = enrolled?.length === 0 ? "its keys are revoked" : "its key is not enrolled";
  return [refusal("host-key-not-enrolled", `Host "${hostname}" is not let in: ${found}`, {
    hints: [`fleetctl host key enroll ${hostname} ${key}`],
  })];
}

function agentProblem({ agent, state, mcps }: AgentLine, paths: Paths): readonly Refusal[] {
  const { name } = agent;
  const problems: Refusal[] = [];
  const isMeant = state.state === "stopped" && agent.stopped !== undefined;
  const isUp = isRunning(state);
  if (!isUp && !isMeant) {
    const why = state.reason === undefined ? "" : ` (${state.reason})`;
    problems.push(
      refusal("agent-down", `Agent "${name}" is ${state.state}${why}, must be running`, {
        // Without an owner it has no dial unit, and applying makes none.
        hints: !dials(agent)
          ? [`fleetctl agents set ${name} --help`]
          : state.state === "stopped"
          ? ["fleetctl apply"]
          : [`fleetctl agents restart ${name}`, logHint(paths, dialUnit(name))],
      }),
    );
  }
  for (const mcp of mcps) {
    const at = `MCP "${mcp.name}" of agent "${name}"`;
    if (mcp.fault === "keys missing") {
      problems.push(refusal("keys-unresolved", `${at} lacks ${mcp.missingKeys.join(", ")}`, {
        hints: mcp.missingKeys.map((key) =>
          `fleetctl secret set ${key}` +
          (mcp.sharing === "shared" ? "" : ` --agent ${name}`)
        ),
      }));
    } else if (mcp.fault === "socket down" || mcp.fault === "not applied") {
      problems.push(refusal("mcp-down", `${at} is not ready: ${mcp.fault}`, {
        hints: ["fleetctl apply", `fleetctl mcp doctor ${mcp.name} ${name}`],
      }));
    } else if (mcp.state === "wired" && isUp) {
      problems.push(refusal("restart-pending", `${at} is live only after the agent restarts`, {
        hints: [`fleetctl agents restart ${name}`],
      }));
    }
  }
  return problems;
}

function isRunning({ state }: HostState): boolean {
  return !["stopped", "failed", "stopping"].includes(state);
}

/** A unit that is down has its own line. */
function connectionProblem(
  { agent, state, connection }: AgentLine,
  paths: Paths,
): readonly Refusal[] {
  const { name } = agent;
  if (connection.state === "unknown") {
    return connection.fault === undefined ? [] : [refusal(
      "gateway-not-asked",
      `Cannot ask the gateway who is connected: ${connection.fault}`,
      { hints: [logHint(paths, GATEWAY_UNIT)] },
    )];
  }
  if (connection.state !== "not connected" || !isRunning(state)) return [];
  const { reason, key } = connection;
  return [refusal(
    "agent-not-connected",
    `Agent "${name}" is not connected to the gateway: ${reason}`,
    {
      hints: [
        ...(key === undefined ? [] : [`fleetctl agents key enroll ${name} ${key}`]),
        logHint(paths, dialUnit(name)),
      ],
    },
  )];
}

function noManager({ paths }: VerbContext): Refusal {
  return refusal(
    "manager-not-running",
    "No service manager runs on this root, must be running for agents to work",
    { hints: [paths.root === "/" ? "systemctl status" : "fleetctl up"] },
  );
}

/** What was seen. */
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
    problems: problems.map(({ code, message, details, hints }) => ({
      code,
      message,
      details,
      hints,
    })),
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

/** `git 2.15.3`, `browser 0.0.83 (wired)`; builtin servers have the version of the product. */
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
