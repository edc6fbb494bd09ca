/**
 * Names of fleetctl's units. They are in one place, because the planner derives a unit's kind and
 * agent from its name. No I/O. See ADR 0003.
 *
 * @module
 */

/** The root daemon. */
export const DAEMON_UNIT = "fleetctl-daemon.service";
/** The gateway. */
export const GATEWAY_UNIT = "fleetctl-gateway.service";
/** The login proxy. */
export const LOGIN_UNIT = "fleetctl-login.service";
/** The team-chat gateway. */
export const TEAMCHAT_UNIT = "fleetctl-teamchat.service";
/** Its receiver, where that is a separate process. */
export const TEAMCHAT_RECEIVER_UNIT = "fleetctl-teamchat-receiver.service";

/** The host's own dial unit. */
export const HOST_UNIT = "fleetctl-host.service";

/** Units of the host's roles, by their user-visible name. */
export const ROLE_UNITS: Readonly<Record<string, string>> = {
  daemon: DAEMON_UNIT,
  gateway: GATEWAY_UNIT,
  host: HOST_UNIT,
  login: LOGIN_UNIT,
  teamchat: TEAMCHAT_UNIT,
  "teamchat-receiver": TEAMCHAT_RECEIVER_UNIT,
};

/** Returns the name of an agent's dial unit. */
export function dialUnit(agent: string): string {
  return `fleetctl-dial-${agent}.service`;
}

/**
 * The slice of everything that works for agents: their dial units, their MCP servers, and servers
 * that are shared or tried out. The host's own roles are outside it.
 */
export const FLEET_SLICE = "fleetctl.slice";

/** Returns the slice of one agent: its dial unit and its own MCP servers. */
export function agentSlice(agent: string): string {
  // A dash in a slice's name means that it is inside another slice.
  return `fleetctl-agents-${agent.replaceAll("-", "\\x2d")}.slice`;
}

/** Returns the stem of an MCP's units: `mcp-git-ada` for one agent, `mcp-notes` when shared. */
function mcpStem(mcp: string, agent: string | undefined): string {
  return agent === undefined ? `mcp-${mcp}` : `mcp-${mcp}-${agent}`;
}

/** Returns the name of the socket unit. */
export function mcpSocketUnit(mcp: string, agent: string | undefined): string {
  return `${mcpStem(mcp, agent)}.socket`;
}

/** Returns the name of the template whose instances serve single connections. */
export function mcpServiceUnit(mcp: string, agent: string | undefined): string {
  return `${mcpStem(mcp, agent)}@.service`;
}
