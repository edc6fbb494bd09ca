/**
 * Runs after a catalog change: reconciles if an agent of this host has the entry wired, and builds
 * the report of what waits for a review. Shared by `add`, `upgrade`, `review` and `rollback`, so
 * that they use the same wording.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Cell } from "cli/output.ts";
import { readFacts, reconcileFacts } from "cli/planner.ts";
import { missingTools, resolveTools } from "core/catalog/defaults.ts";
import { grantLines, grantOptions } from "core/catalog/dry_start.ts";
import { proposeForReview } from "core/catalog/risk_marks.ts";
import { isHeld, reviewHash, type ToolLock } from "core/catalog/tool_lock.ts";
import type { Refusal } from "core/errors.ts";
import type { AgentName, McpName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";
import { quoteShell } from "core/text/quote.ts";

/** The state of a changed entry on this host. */
export interface AppliedEntry {
  /** Agents of this host that have it. */
  readonly agents: readonly AgentName[];
  readonly lines: readonly string[];
  readonly faults: readonly Refusal[];
}

/** Applies a changed entry where it is wired. A host without a repo wires nothing. */
export async function applyEntry(
  context: VerbContext,
  mcp: McpName,
): Promise<Result<AppliedEntry>> {
  const { ports, paths } = context;
  const nothing = { agents: [], lines: [], faults: [] };
  if (await ports.files.stat(`${paths.repo}/.git/HEAD`) === undefined) return ok(nothing);
  const gathered = await readFacts(context);
  if (!gathered.ok) return gathered;
  const agents = [...gathered.value.facts.wired]
    .flatMap(([agent, mcps]) => mcps.includes(mcp) ? [agent] : []);
  if (agents.length === 0) return ok(nothing);
  const report = await reconcileFacts(context, gathered.value, {
    dryRun: false,
    restartAgents: false,
  });
  if (!report.ok) return report;
  const names = agents.map((agent) => `"${agent}"`).join(", ");
  return ok({
    agents,
    faults: report.value.faults,
    lines: [
      `active for ${names}: running servers were stopped, and the next call starts the new version`,
    ],
  });
}

/** Returns the agents of the ledger, on any host, that have an MCP or request it. */
export async function agentsWith(
  context: VerbContext,
  mcp: McpName,
): Promise<Result<readonly AgentName[]>> {
  const { ports, paths } = context;
  if (await ports.files.stat(`${paths.repo}/.git/HEAD`) === undefined) return ok([]);
  const gathered = await readFacts(context);
  if (!gathered.ok) return gathered;
  const { ledger, catalog, defaults } = gathered.value;
  return ok(
    [...ledger.agents.values()].filter((agent) =>
      resolveTools(agent, catalog, defaults).includes(mcp) ||
      missingTools(agent, catalog, defaults).includes(mcp)
    ).map(({ name }) => name).sort(),
  );
}

/** Returns lines about what waits for a review, and how to accept it. */
export async function heldLines(
  mcp: string,
  lock: ToolLock,
  from?: AgentName,
): Promise<readonly Cell[]> {
  const { held } = lock;
  if (!isHeld(held)) return [];
  const isWhole = held.findings.length > 0;
  return [
    { text: "held back until a review:", tone: "warn" },
    ...held.findings.map((text) => `  version     ${text}`),
    ...(isWhole ? ["  tools       all of them, whatever their names"] : []),
    ...[...held.tools].flatMap(([tool, { why }]) =>
      why.map((text) => `  tool        ${tool}: ${text}`)
    ),
    ...proposeForReview(held.tools, lock.tools, new Map()).map(({ tool, why }) =>
      `  mark        ${
        tool === "*" ? "every tool" : tool
      }: once accepted, asks a human before each call: ${why}`
    ),
    ...grantLines(held.permissions).map((text) => `  permission  ${text}`),
    ...grantHint(mcp, lock),
    `accept with: fleetctl mcp catalog review ${mcp}${
      from === undefined ? "" : ` --from ${from}`
    } --accept ${await reviewHash(lock)}`,
  ];
}

/** Permissions can be granted one by one, without accepting the rest. */
function grantHint(mcp: string, { version, held }: ToolLock): readonly string[] {
  const flags = grantOptions(held.permissions).map((one) => ` --grant ${quoteShell(one)}`);
  return flags.length === 0
    ? []
    : [`grant with: fleetctl mcp catalog upgrade ${mcp} --to ${version}${flags.join("")}`];
}

/** Returns what waits for a review as JSON. */
export async function heldJson(lock: ToolLock) {
  const { held } = lock;
  return {
    waits: isHeld(held),
    hash: isHeld(held) ? await reviewHash(lock) : null,
    tools: Object.fromEntries([...held.tools].map(([tool, { why }]) => [tool, why])),
    permissions: held.permissions,
    findings: held.findings,
  };
}
