/**
 * Names of the units that we render. One place, because the planner recognizes a unit's kind and
 * agent by its name. No I/O. See ADR 0003.
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
/** Its receiving half, where that is a process of its own. */
export const TEAMCHAT_RECEIVER_UNIT = "fleetctl-teamchat-receiver.service";

/** The host's own dial unit. */
export const HOST_UNIT = "fleetctl-host.service";

/** Units of the host's roles, by the word that people use for them. */
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
 * Everything that works for agents: their dial units, their MCP servers, servers that are shared
 * or tried out. The host's own roles are not in it.
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

/** Returns the name of the template that one connection's server is an instance of. */
export function mcpServiceUnit(mcp: string, agent: string | undefined): string {
  return `${mcpStem(mcp, agent)}@.service`;
}
