/**
 * `fleetctl mcp catalog review --from <agent>`: reviews what the running server of an agent lists
 * beyond the accepted tools. Showing writes nothing. Accepting lists the tools again, and accepts
 * only if they match what was shown.
 *
 * @module
 */

import { everyLines, markLines, marksJson } from "cli/mcp/catalog/add_report.ts";
import { markAccepted, type MarkedManifest } from "cli/mcp/catalog/mark.ts";
import { reviewText } from "cli/mcp/catalog/review_text.ts";
import { applyEntry } from "cli/mcp/catalog/apply_entry.ts";
import { chooseLayer, readPrevious, type StoredEntry, writeEntry } from "cli/mcp/catalog/store.ts";
import { socketPlace } from "cli/mcp/call_endpoint.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { findEntry, readCatalog } from "core/catalog/catalog.ts";
import { versionOf } from "core/catalog/edit.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { EVERY_TOOL } from "core/catalog/manifest_rules.ts";
import { diffTools } from "core/catalog/tool_diff.ts";
import {
  acceptHeld,
  type LockedTool,
  lockTools,
  NOTHING_HELD,
  printToolLock,
  reviewHash,
  type ToolLock,
} from "core/catalog/tool_lock.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import type { AgentName, McpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { mcpHeld } from "core/risk/decide.ts";
import { mcpSocketPath } from "units/render/mcp/socket.ts";

/** The request of this review. */
interface ReviewRequest {
  readonly mcp: McpName;
  readonly from: AgentName;
  readonly accept: string | undefined;
}

/** The stored entry; without a lock for a shipped one. */
interface Entry {
  readonly stored: StoredEntry;
  readonly lock: ToolLock | undefined;
}

/** Shows the review, or accepts it by its hash. */
export async function reviewRunning(
  context: VerbContext,
  request: ReviewRequest,
  entry: Entry,
): Promise<Result<VerbReport>> {
  const { mcp, from, accept } = request;
  const catalog = await readCatalog(context.ports, context.paths);
  if (!catalog.ok) return catalog;
  const manifest = findEntry(catalog.value, mcp);
  if (!manifest.ok) return manifest;
  const listed = await listRunning(context, manifest.value, from);
  if (!listed.ok) return listed;
  const lock = entry.lock ??
    { version: versionOf(manifest.value.source), tools: new Map(), held: NOTHING_HELD };
  const found = holdChanged(lock, listed.value);
  if (accept === undefined) {
    return ok(
      found.held.tools.size === 0 ? nothingNew(request) : await reviewText(mcp, found, from),
    );
  }
  if (found.held.tools.size === 0 || accept !== await reviewHash(found)) {
    return err(refusal(
      "review-stale",
      `Cannot accept what the server of MCP "${mcp}" lists for agent "${from}": the hash does ` +
        `not match what it lists now, must be the one that a review has just shown`,
      { hints: [`fleetctl mcp catalog review ${mcp} --from ${from}`] },
    ));
  }
  // A shipped entry has a mark chosen for each tool. The server's list adds none.
  const marked = entry.lock === undefined && entry.stored.layer === "shipped"
    ? ok({ manifest: entry.stored.manifest, proposed: [], everyAsks: false })
    : markAccepted(entry.stored.manifest, entry.stored, mcp, found);
  if (!marked.ok) return marked;
  const accepted = { ...acceptHeld(found), ...waiting(lock) };
  return await record(context, request, entry, { lock: accepted, ...marked.value });
}

/** Returns what awaits a review of an upgrade, which this review does not change. */
function waiting({ held, heldSince }: ToolLock): Pick<ToolLock, "held" | "heldSince"> {
  return { held, ...defined({ heldSince }) };
}

async function listRunning(
  context: VerbContext,
  manifest: Manifest,
  agent: AgentName,
): Promise<Result<ReadonlyMap<string, LockedTool>>> {
  const { name, sharing, transport, heldTools = [] } = manifest;
  if (transport === "http") {
    return err(refusal(
      "transport-unsupported",
      `Cannot review what MCP "${name}" lists: it is reached by URL, must have a socket`,
      { hints: ["fleetctl mcp catalog list"] },
    ));
  }
  if (heldTools.includes(EVERY_TOOL)) return err(mcpHeld(name));
  const owner = sharing === "shared" ? undefined : agent;
  const socket = mcpSocketPath(context.paths, name, owner);
  if (await context.ports.files.stat(socket) === undefined) {
    return err(refusal(
      "mcp-not-wired",
      `Cannot review MCP "${name}" of agent "${agent}": its socket is missing, must be wired`,
      { hints: [`fleetctl mcp add ${name} ${agent}`] },
    ));
  }
  const client = await context.ports.openMcpClient();
  const listed = await client.listTools(name, socketPlace(context, name, { socket, agent }));
  return listed.ok ? await lockTools(listed.value.map(({ definition }) => definition)) : listed;
}

/** Returns a lock that holds every tool whose listing differs from the accepted one. */
function holdChanged(lock: ToolLock, listed: ReadonlyMap<string, LockedTool>): ToolLock {
  const changes = diffTools(lock.tools, listed);
  const other = [...listed].filter(([tool, { hash }]) =>
    lock.tools.get(tool)?.hash !== hash && !lock.held.tools.has(tool)
  );
  const tools = new Map(other.map(([tool, locked]) => {
    const why = changes.filter((one) => one.tool === tool)
      .map(({ kind, text }) => `${kind}: ${text}`);
    return [tool, {
      ...locked,
      running: true as const,
      why: why.length === 0 ? ["its definition differs"] : why,
    }];
  }));
  return { version: lock.version, tools: lock.tools, held: { ...NOTHING_HELD, tools } };
}

function nothingNew({ mcp, from }: ReviewRequest): VerbReport {
  return {
    json: { mcp, from, held: { waits: false } },
    blocks: [{
      kind: "lines",
      lines: [`reviewed  ${mcp}: the server of agent ${from} lists what was accepted`],
    }],
  };
}

async function record(
  context: VerbContext,
  { mcp, from, accept = "" }: ReviewRequest,
  { stored }: Entry,
  { lock, manifest, proposed, everyAsks }: MarkedManifest & { readonly lock: ToolLock },
): Promise<Result<VerbReport>> {
  const layer = stored.layer === "shipped"
    ? await chooseLayer(context, undefined)
    : ok(stored.layer);
  if (!layer.ok) return layer;
  const written = await writeEntry(context, {
    mcp,
    layer: layer.value,
    verb: "mcp catalog review",
    summary: `"${mcp}" as agent "${from}" has it, against ${accept}`,
    next: { ...stored, manifest, tools: printToolLock(lock) },
    previous: await readPrevious(context, mcp, layer.value),
  });
  if (!written.ok) return written;
  const applied = await applyEntry(context, mcp);
  if (!applied.ok) return applied;
  return ok({
    json: {
      mcp,
      from,
      accepted: accept,
      layer: layer.value,
      marks: marksJson(proposed),
      agents: applied.value.agents,
    },
    blocks: [{
      kind: "lines",
      lines: [
        `accepted  ${mcp} ${lock.version} as agent ${from} has it`,
        ...markLines(mcp, proposed),
        ...everyLines(mcp, everyAsks),
        ...applied.value.lines,
      ],
    }],
    faults: applied.value.faults,
  });
}
