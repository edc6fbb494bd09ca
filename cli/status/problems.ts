/**
 * The problems that `fleetctl status` reports about roles, agents and their connections, each with
 * its cause and the commands that fix it. Pure: the observations are parameters.
 *
 * @module
 */

import type { Connection } from "cli/connection.ts";
import type { VerbContext } from "cli/context.ts";
import type { Gathered } from "cli/facts.ts";
import { notLoaded, type WiredMcp } from "cli/verbs/mcp/wired.ts";
import type { Cause } from "cli/status/causes.ts";
import type { HostState } from "core/dial/host_state.ts";
import { editHint } from "core/hints/edit_hint.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { logHint } from "core/hints/log_hint.ts";
import type { Paths } from "core/paths.ts";
import { dialUnit, GATEWAY_UNIT, HOST_UNIT } from "units/render/unit_name.ts";

/** One role of this host. */
export interface RoleLine {
  readonly role: string;
  readonly unit: string;
  readonly state: string;
  readonly reason: string;
}

/** One agent of this host. */
export interface AgentLine {
  readonly agent: AgentRecord;
  readonly state: HostState;
  readonly connection: Connection;
  readonly mcps: readonly WiredMcp[];
}

/** Further inputs for the problems of one host. */
export interface ProblemContext {
  readonly paths: Paths;
  readonly hostname: string;
  /** Why units do not serve, as far as their logs show it. */
  readonly causes: ReadonlyMap<string, Cause>;
}

/** Returns whether an installed role does not serve. */
export function isRoleDown({ state }: RoleLine): boolean {
  return state !== "active" && state !== "not installed";
}

/** Returns the units whose logs show why an agent does not run or is not connected. */
export function unreachedUnits(lines: readonly AgentLine[]): readonly string[] {
  return lines.flatMap(({ agent, state, connection }) => {
    const isLost = !isRunning(state) && state.state !== "stopped";
    const isCut = connection.state === "not connected" && isRunning(state);
    if (isLost || isCut) return [dialUnit(agent.name)];
    const isHere = connection.state === "unknown" && connection.elsewhere === undefined;
    return isHere && connection.fault !== undefined ? [GATEWAY_UNIT] : [];
  });
}

/** Returns the problem of a role that is not active, with the error from its log. */
export function roleProblem(
  { role, unit, state, reason }: RoleLine,
  { paths, causes }: ProblemContext,
): readonly Refusal[] {
  if (state === "active") return [];
  const why = reason === "" ? "" : ` (${reason})`;
  const cause = causes.get(unit);
  const isStopped = state === "inactive" || state === "failed";
  return [refusal("role-down", `The ${role} is ${state}${why}, must be active`, {
    details: cause?.details ?? [],
    hints: state === "not installed" ? ["fleetctl apply"] : [
      ...(hasHints(cause) ? cause.hints : isStopped ? ["fleetctl apply"] : []),
      logHint(paths, unit),
      // A program exits with 2 when one of its settings is unusable. Its log names the setting.
      ...(reason.endsWith("exit-code 2") ? [editHint(paths.rolesFile)] : []),
    ],
  })];
}

/**
 * Returns the problem of a host key that is not enrolled. The gateway admits a host's own unit only
 * with an enrolled key. `apply` enrolls a host's first key; an operator must enroll any other.
 */
export function hostKeyProblem(context: VerbContext, gathered: Gathered): readonly Refusal[] {
  const { hostname } = context.ports;
  const { hosts, hostDialKey: key, facts } = gathered;
  const enrolled = hosts.hosts.get(hostname)?.dialKeys;
  if (facts.roles.host === undefined || key === undefined || enrolled?.includes(key)) return [];
  const found = enrolled?.length === 0 ? "its keys are revoked" : "its key is not enrolled";
  return [
    refusal(
      "host-key-not-enrolled",
      `Host "${hostname}" is not admitted by the gateway: ${found}`,
      {
        hints: [`fleetctl host key enroll ${hostname} ${key}`],
      },
    ),
  ];
}

/** Returns the problems of an agent that does not run, and of its MCPs that do not answer. */
export function agentProblem(
  { agent, state, mcps }: AgentLine,
  { paths, causes }: ProblemContext,
): readonly Refusal[] {
  const { name } = agent;
  const cause = causes.get(dialUnit(name));
  const problems: Refusal[] = [];
  const isMeant = state.state === "stopped" && agent.stopped !== undefined;
  const isUp = isRunning(state);
  if (!isUp && !isMeant) {
    const why = state.reason === undefined ? "" : ` (${state.reason})`;
    problems.push(
      refusal("agent-down", `Agent "${name}" is ${state.state}${why}, must be running`, {
        details: cause?.details ?? [],
        hints: state.state === "stopped" ? ["fleetctl apply"] : [
          ...(hasHints(cause) ? cause.hints : [`fleetctl agents restart ${name}`]),
          logHint(paths, dialUnit(name)),
        ],
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
    } else if (mcp.fault === "not loaded") {
      problems.push(notLoaded(mcp, { agent: name, paths }));
    } else if (mcp.state === "wired" && mcp.load === undefined && isUp) {
      problems.push(refusal("restart-pending", `${at} takes effect only after the agent restarts`, {
        hints: [`fleetctl agents restart ${name}`],
      }));
    }
  }
  return problems;
}

function isRunning({ state }: HostState): boolean {
  return !["stopped", "failed", "stopping"].includes(state);
}

/** Returns the connection problem of an agent. A unit that is down is reported separately. */
export function connectionProblem(
  { agent, state, connection }: AgentLine,
  { paths, hostname, causes }: ProblemContext,
): readonly Refusal[] {
  const { name } = agent;
  if (connection.state === "unknown") {
    if (connection.elsewhere !== undefined) {
      const { refusedKey: refused } = connection.elsewhere;
      return [refusal(
        "gateway-not-asked",
        `Cannot query the gateway for connections: ${connection.fault ?? "no answer"}`,
        {
          details: refused === undefined ? [] : ["On the host of the gateway:"],
          hints: refused === undefined
            ? [logHint(paths, HOST_UNIT)]
            : [`fleetctl host key enroll ${hostname} ${refused}`],
        },
      )];
    }
    const cause = causes.get(GATEWAY_UNIT);
    return connection.fault === undefined ? [] : [refusal(
      "gateway-not-asked",
      `Cannot query the gateway for connections: ${connection.fault}`,
      {
        details: cause?.details ?? [],
        hints: [
          ...(hasHints(cause) ? cause.hints : [restartHint(paths, GATEWAY_UNIT)]),
          logHint(paths, GATEWAY_UNIT),
        ],
      },
    )];
  }
  if (connection.state !== "not connected" || !isRunning(state)) return [];
  const { reason, key } = connection;
  const cause = causes.get(dialUnit(name));
  return [refusal(
    "agent-not-connected",
    `Agent "${name}" is not connected to the gateway: ${reason}`,
    {
      details: cause?.details ?? [],
      hints: [
        ...cause?.hints ?? [],
        ...(key === undefined ? [] : [`fleetctl agents key enroll ${name} ${key}`]),
        logHint(paths, dialUnit(name)),
      ],
    },
  )];
}

function hasHints(cause: Cause | undefined): cause is Cause {
  return cause !== undefined && cause.hints.length > 0;
}

function restartHint(paths: Paths, unit: string): string {
  return paths.root === "/" ? `systemctl restart ${unit}` : "fleetctl up";
}

/** Returns the problem that no service manager runs, so no unit runs. */
export function noManager({ paths }: VerbContext): Refusal {
  return refusal(
    "manager-not-running",
    "No service manager runs on this root, must be running for agents to work",
    { hints: [paths.root === "/" ? "systemctl status" : "fleetctl up"] },
  );
}
