/**
 * Finds the endpoint for a call of `mcp read` and `mcp call`: the socket of the MCP, its URL with
 * the target agent's keys, or the agent's own proxy, which can use both. Reads only.
 *
 * @module
 */

import { agentHere } from "cli/agent_here.ts";
import type { VerbContext } from "cli/context.ts";
import { readCatalog } from "core/catalog/catalog.ts";
import { readDefaults, resolveTools } from "core/catalog/defaults.ts";
import { fillEndpoint } from "core/catalog/endpoint.ts";
import { refusal } from "core/errors.ts";
import type { AgentName, McpName } from "core/names.ts";
import type { McpEndpoint } from "core/ports/mcp_client.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Gate } from "core/risk/rules.ts";
import { readRenderedKeys } from "core/secrets/rendered_keys.ts";

/**
 * Whether the caller uses its own proxy. An agent on a real host does: the proxy's permission set
 * names that agent's sockets and URLs. Root, and every caller under another root, connects
 * directly.
 */
export function isOwnProxy({ paths, ports }: VerbContext): boolean {
  return paths.root === "/" && ports.users.currentUid() !== 0;
}

/** Returns the endpoint of the socket of an MCP. */
export function socketPlace(
  context: VerbContext,
  mcp: McpName,
  { socket, agent }: { readonly socket: string; readonly agent: AgentName },
): McpEndpoint {
  return isOwnProxy(context)
    ? proxyPlace(context, mcp, { how: ["--socket", socket], agent })
    : { socket };
}

/** Returns the endpoint of an MCP that is reached by URL, with the keys of the target agent. */
export async function urlPlace(
  context: VerbContext,
  gate: Gate,
  agent: AgentName,
): Promise<Result<McpEndpoint>> {
  const { mcp, endpoint } = gate;
  if (endpoint === undefined) return err(notApplied(mcp));
  if (isOwnProxy(context)) return ok(proxyPlace(context, mcp, { how: ["--url"], agent }));
  const wired = await isWired(context, mcp);
  if (!wired.ok) return wired;
  if (!wired.value) return err(notWired(mcp, agent));
  const keys = await readRenderedKeys(context.ports.files, context.paths, agent);
  if (!keys.ok) return keys;
  const filled = fillEndpoint(mcp, endpoint, (key) => keys.value.get(key));
  if (filled.ok) return ok({ http: filled.value });
  const hints = filled.error.hints.map((hint) => hint.replace("--agent self", `--agent ${agent}`));
  return err({ ...filled.error, hints });
}

/** An MCP without a socket is wired if the ledger lists it. */
async function isWired(context: VerbContext, mcp: McpName): Promise<Result<boolean>> {
  const agent = await agentHere(context);
  if (!agent.ok) return agent;
  const catalog = await readCatalog(context.ports, context.paths);
  if (!catalog.ok) return catalog;
  const defaults = await readDefaults(context.ports, context.paths, catalog.value);
  return ok(resolveTools(agent.value, catalog.value, defaults).includes(mcp));
}

function proxyPlace(
  { paths, env }: VerbContext,
  mcp: McpName,
  { how, agent }: { readonly how: readonly string[]; readonly agent: AgentName },
): McpEndpoint {
  const home = env.HOME === undefined ? {} : { HOME: env.HOME };
  return {
    command: paths.program("fleetctl-mcp"),
    args: ["proxy", mcp, ...how],
    env: { PATH: "/usr/bin:/bin", FLEETCTL_AGENT: agent, ...home },
  };
}

/** Returns the refusal to call an MCP that the agent does not have. */
function notWired(mcp: McpName, agent: AgentName) {
  return refusal(
    "mcp-not-wired",
    `Cannot call MCP "${mcp}" as agent "${agent}": it is not wired to that agent`,
    { hints: [`fleetctl mcp wired ${agent}`, `fleetctl mcp add ${mcp} ${agent}`] },
  );
}

function notApplied(mcp: McpName) {
  return refusal(
    "mcp-not-applied",
    `Cannot call MCP "${mcp}": the rendered gate has no endpoint, must be applied first`,
    { hints: ["fleetctl apply"] },
  );
}
