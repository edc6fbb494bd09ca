/**
 * The endpoint of an agent's MCP that is reached by URL, with the agent's own keys filled in. Reads
 * the rendered gate and env files, never the catalog. File ownership and the program's permission
 * set prevent reads of another agent's keys.
 *
 * @module
 */

import { fillEndpoint } from "core/catalog/endpoint.ts";
import { refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import type { HttpEndpoint } from "core/ports/mcp_client.ts";
import { err, type Result } from "core/result.ts";
import { createGateReader } from "core/risk/gate_file.ts";
import { readRenderedKeys } from "core/secrets/rendered_keys.ts";

/** Reads the endpoint of an MCP. It is not cached, because keys change while a proxy runs. */
export async function readOwnEndpoint(
  files: Pick<Files, "readText" | "stat">,
  paths: Paths,
  { mcp, agent }: { readonly mcp: string; readonly agent: string },
): Promise<Result<HttpEndpoint>> {
  const gate = await createGateReader(files, paths.gate(mcp), mcp).current();
  if (!gate.ok) return gate;
  const { endpoint } = gate.value;
  if (endpoint === undefined) return err(unusable(mcp, "it is not reached by URL"));
  try {
    const keys = await readRenderedKeys(files, paths, agent);
    return keys.ok ? fillEndpoint(mcp, endpoint, (key) => keys.value.get(key)) : keys;
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    return err(unusable(mcp, `the keys of agent "${agent}" cannot be read (${thrown.code})`));
  }
}

function unusable(mcp: string, state: string) {
  return refusal("mcp-unreachable", `Cannot reach MCP ${JSON.stringify(mcp)}: ${state}`, {
    hints: ["fleetctl mcp wired self"],
  });
}
