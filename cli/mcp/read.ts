/**
 * `fleetctl mcp read <mcp> <tool> [<agent>]`: one call through the admission gate, to the server on
 * the agent's socket, which starts as that agent with that agent's credentials. Not read-only: the
 * name is that of the plane, and the gate is the same as for `mcp call`.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { findEntry, readCatalog } from "core/catalog/catalog.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { errorText, refusal } from "core/errors.ts";
import { type AgentName, type McpName, parseMcpName } from "core/names.ts";
import type { McpEndpoint } from "core/mcp_port.ts";
import { err, ok, type Result } from "core/result.ts";
import { callAdmitted } from "core/risk/admission.ts";
import { gateOf } from "core/risk/rules.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** What `fleetctl mcp read` was asked for; the agent is the context's target. */
export interface Options {
  readonly mcp: McpName;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** Longest name of a tool that is passed on. */
const TOOL_NAME_LENGTH_MAX = 128;

/** Parses the arguments. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const { args, options } = invocation;
  const mcp = parseMcpName(args.mcp ?? "");
  if (!mcp.ok) return mcp;
  const tool = args.tool ?? "";
  if (tool === "" || tool.length > TOOL_NAME_LENGTH_MAX) {
    return err(badArguments(mcp.value, "the name of the tool is unusable", tool.slice(0, 20)));
  }
  const parsed = parseArguments(options.args ?? "{}");
  if (!parsed.ok) return err(badArguments(mcp.value, parsed.error, tool));
  return ok({ mcp: mcp.value, tool, arguments: parsed.value });
}

/** Calls the tool. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths, target } = context;
  if (target.kind !== "agent") throw new Error("mcp read needs an agent as its target");
  const catalog = await readCatalog(ports, paths);
  if (!catalog.ok) return catalog;
  const manifest = findEntry(catalog.value, options.mcp);
  if (!manifest.ok) return manifest;
  const socket = socketOf(context, manifest.value, target.agent);
  if (!socket.ok) return socket;
  if (await ports.files.stat(socket.value) === undefined) {
    return err(notWired(options.mcp, target.agent));
  }
  const client = await ports.openMcpClient();
  const endpoint = endpointOf(context, options.mcp, socket.value);
  const answer = await callAdmitted(client, endpoint, gateOf(manifest.value), {
    tool: options.tool,
    arguments: options.arguments,
  });
  if (!answer.ok) return answer;
  const { isError, text, result } = answer.value;
  const report: VerbReport = {
    json: { mcp: options.mcp, tool: options.tool, agent: target.agent, is_error: isError, result },
    blocks: [{ kind: "lines", lines: text === "" ? [] : text.split("\n") }],
  };
  return ok(isError ? { ...report, faults: [toolFailed(options)] } : report);
}

function parseArguments(text: string): Result<Readonly<Record<string, unknown>>, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    return err(`--args is no JSON (${errorText(thrown).slice(0, 80)}), must be one JSON object`);
  }
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? ok(value as Readonly<Record<string, unknown>>)
    : err("--args is JSON of another kind, must be one JSON object");
}

function socketOf(
  { paths }: VerbContext,
  manifest: Manifest,
  agent: AgentName,
): Result<string> {
  if (manifest.transport === "http") {
    return err(refusal(
      "transport-unsupported",
      `Cannot call MCP "${manifest.name}" from here: it is reached by URL, must have a socket`,
      { hints: [`fleetctl mcp wired ${agent}`] },
    ));
  }
  return ok(
    manifest.sharing === "shared"
      ? paths.sharedMcpSocket(manifest.name)
      : paths.agentMcpSocket(manifest.name, agent),
  );
}

/**
 * An agent on a real host goes through its own proxy, whose permission set names that agent's
 * sockets; root and the operator of another root connect themselves.
 */
function endpointOf({ paths, ports, env }: VerbContext, mcp: McpName, socket: string): McpEndpoint {
  if (paths.root !== "/" || ports.users.currentUid() === 0) return { socket };
  return {
    command: paths.program("fleetctl-mcp"),
    args: ["proxy", mcp, "--socket", socket],
    env: { PATH: "/usr/bin:/bin", ...(env.HOME === undefined ? {} : { HOME: env.HOME }) },
  };
}

function badArguments(mcp: McpName, found: string, tool: string) {
  return refusal("arguments-invalid", `Cannot call a tool of MCP "${mcp}": ${found}`, {
    kind: "usage",
    hints: [`fleetctl mcp read ${mcp} ${tool === "" ? "<tool>" : tool} --args '{"key":"value"}'`],
  });
}

function notWired(mcp: McpName, agent: AgentName) {
  return refusal(
    "mcp-not-wired",
    `Cannot call MCP "${mcp}" as agent "${agent}": its socket is not there, must be wired first`,
    { hints: [`fleetctl mcp wired ${agent}`, `fleetctl mcp add ${mcp} ${agent}`] },
  );
}

/** The answer itself is already on stdout. */
function toolFailed({ mcp, tool }: Options) {
  return refusal(
    "tool-failed",
    `Cannot finish tool "${tool}" of MCP "${mcp}": the server answered with an error`,
  );
}
