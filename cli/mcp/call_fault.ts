/**
 * Explains why a call of an MCP ended without an answer. It adds those findings of `fleetctl mcp
 * doctor` that are cheap to obtain. Reads only.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { isOwnProxy } from "cli/mcp/call_endpoint.ts";
import { serverLogTail } from "cli/mcp/server_log_tail.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { checkTree, needsVendoring } from "core/catalog/vendor.ts";
import type { Refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { callerAgent } from "core/verbs/caller.ts";

/** Refusals of a call whose server ended, could not be reached, or has an altered tree. */
const LOST: ReadonlySet<string> = new Set(["mcp-ended", "mcp-unreachable", "tree-altered"]);

/**
 * Returns the refusal to show for a failed call. If someone altered the server's tree, the refusal
 * reports that. Otherwise it includes the server's last log lines if the caller may read them.
 */
export async function explainFault(
  context: VerbContext,
  manifest: Manifest,
  agent: AgentName,
  fault: Refusal,
): Promise<Refusal> {
  const { ports, paths, caller } = context;
  if (!LOST.has(fault.code) || manifest.transport === "http") return fault;
  const agentArgument = callerAgent(caller) === agent ? "self" : agent;
  const doctor = `fleetctl mcp doctor ${manifest.name} ${agentArgument}`;
  const tree = needsVendoring(manifest)
    ? await checkTree(manifest.name, ports, paths)
    : { ok: true } as const;
  if (!tree.ok) {
    const apply = agentArgument === "self" ? "fleetctl apply self" : "fleetctl apply";
    return { ...tree.error, hints: [apply, doctor] };
  }
  // Only root can read the journal; for others `mcp doctor` reads it through the daemon.
  const logTail = isOwnProxy(context) || fault.code === "mcp-unreachable"
    ? []
    : await serverLogTail(context, manifest, agent);
  return { ...fault, details: [...fault.details, ...logTail], hints: [doctor, ...fault.hints] };
}
