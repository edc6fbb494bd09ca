/**
 * `fleetctl mcp add`: wires an MCP of the catalog to an agent. Steps:
 *
 * 1. Refuse if a required key is missing.
 * 2. Let the planner change units and client config, as if the MCP were in the shard already.
 * 3. Add the MCP to the shard. A package that cannot be installed thus leaves no entry.
 * 4. Print when the agent can use the MCP.
 *
 * @module
 */

import { agentToChange } from "cli/agent_here.ts";
import type { VerbContext } from "cli/context.ts";
import type { Gathered } from "cli/facts.ts";
import { collisionOf } from "cli/mcp/collision.ts";
import { checkCredentials } from "cli/mcp/credentials.ts";
import { wiredMcps } from "cli/verbs/mcp/wired.ts";
import type { VerbReport } from "cli/output.ts";
import {
  authorOf,
  factsWith,
  installFirst,
  type PlanOptions,
  planReport,
  readFacts,
  reconcileFacts,
  underAgentLock,
} from "cli/planner.ts";
import { findEntry } from "core/catalog/catalog.ts";
import { withTool } from "core/catalog/defaults.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import { changeAgent } from "core/ledger/agents.ts";
import { type McpName, parseMcpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import type { Vendor } from "units/reconcile/ports.ts";
import { isUnchanged, type Report } from "units/reconcile/report.ts";
import { scopeOf } from "units/reconcile/scope.ts";
import { mcpSocketUnit } from "units/render/unit_name.ts";

/** Options of `fleetctl mcp add`; the agent is the context's target. */
export interface Options {
  readonly mcp: McpName;
  readonly isForced: boolean;
  readonly isDryRun: boolean;
}

/** Parses the arguments. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const mcp = parseMcpName(invocation.args.mcp ?? "");
  if (!mcp.ok) return mcp;
  return ok({
    mcp: mcp.value,
    isForced: invocation.switches.has("force"),
    isDryRun: invocation.switches.has("dry-run"),
  });
}

/** Wires the MCP. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const trees = await treesFirst(context, options);
  if (!trees.ok) return trees;
  return await underAgentLock(context, async (awaitLater) => {
    const before = await readFacts(context);
    if (!before.ok) return before;
    const { catalog, ledger, defaults, secrets } = before.value;
    const agent = await agentToChange(context, ledger);
    if (!agent.ok) return agent;
    const manifest = findEntry(catalog, options.mcp);
    if (!manifest.ok) return manifest;
    const gate = checkCredentials(secrets.shards, agent.value.name, manifest.value);
    if (!gate.ok && !options.isForced) return gate;
    const changed = { ...agent.value, tools: withTool(agent.value, options.mcp, defaults) };
    const wired = await wire(context, options, {
      before: before.value,
      changed,
      manifest: manifest.value,
      how: { awaitLater, ...defined({ vendor: trees.value }) },
    });
    if (!wired.ok || gate.ok) return wired;
    // Uses the refusal's own text, so that each fact has one wording.
    return ok({ ...wired.value, warnings: [gate.error, ...wired.value.warnings ?? []] });
  });
}

/** Runs before the lock, because installing a package may take minutes. */
async function treesFirst(
  context: VerbContext,
  { mcp, isDryRun }: Options,
): Promise<Result<Vendor | undefined>> {
  const { target } = context;
  if (isDryRun || target.kind !== "agent") return ok(undefined);
  return await installFirst(context, target.agent, [mcp]);
}

interface Change {
  readonly before: Gathered;
  readonly changed: AgentRecord;
  readonly manifest: Manifest;
  readonly how: Pick<PlanOptions, "awaitLater" | "vendor">;
}

async function wire(
  context: VerbContext,
  options: Options,
  { before, changed, manifest, how }: Change,
): Promise<Result<VerbReport>> {
  const gathered = await factsWith(context, before, { agent: changed });
  if (!gathered.ok) return gathered;
  const collision = await collisionOf(context, gathered.value.facts, {
    agent: changed.name,
    mcp: options.mcp,
    cannot: (mcp) => `Cannot add MCP "${mcp}" to agent "${changed.name}"`,
  });
  if (collision !== undefined) return err(collision);
  const report = await reconcileFacts(context, gathered.value, {
    dryRun: options.isDryRun,
    restartAgents: false,
    ...how,
    scope: scopeOf(gathered.value.facts, changed.name),
  });
  if (!report.ok) return report;
  if (!isInPlace(report.value, manifest, changed)) {
    return err(notWired(report.value, options, changed));
  }
  if (!options.isDryRun) {
    const recorded = await changeAgent(context.ports, context.paths, {
      ...authorOf(context, "mcp add"),
      agent: changed.name,
      summary: `"${options.mcp}" to agent "${changed.name}"`,
      decide: (record) => ok({ tools: withTool(record, options.mcp, gathered.value.defaults) }),
    });
    if (!recorded.ok) return recorded;
  }
  const isLive = await isLiveNow(context, gathered.value, {
    report: report.value,
    changed,
    manifest,
  });
  // The last line of the report already covers this agent.
  const shown = {
    ...report.value,
    restartPending: report.value.restartPending.filter((name) => name !== changed.name),
  };
  return ok(planReport(shown, gathered.value, {
    json: {
      mcp: options.mcp,
      agent: changed.name,
      state: isLive ? "live" : options.isDryRun ? "planned" : "wired",
    },
    last: [
      ...lastLines(options, changed, isLive),
      ...(manifest.oauth === undefined ? [] : [
        `it answers once the agent is signed in to "${manifest.oauth.provider}": ` +
        `fleetctl mcp doctor ${manifest.name} ${changed.name}`,
      ]),
    ],
    singleAgentCaller: context.caller,
  }));
}

/** Whether nothing had to change and the agent started after the MCP was wired. */
async function isLiveNow(
  context: VerbContext,
  gathered: Gathered,
  of: { readonly report: Report; readonly changed: AgentRecord; readonly manifest: Manifest },
): Promise<boolean> {
  if (!isUnchanged(of.report) || of.report.restartPending.includes(of.changed.name)) return false;
  const mcps = await wiredMcps(context, gathered, of.changed);
  return mcps.some((mcp) => mcp.name === of.manifest.name && mcp.state === "live");
}

function lastLines(options: Options, { name }: AgentRecord, isLive: boolean): readonly string[] {
  const { mcp, isDryRun } = options;
  const would = isDryRun ? "would be" : "was";
  if (isLive) {
    return [`MCP "${mcp}" is wired to agent "${name}" and live, nothing ${would} changed`];
  }
  return [
    `MCP "${mcp}" ${isDryRun ? "would be" : "is"} wired to agent "${name}"`,
    `it takes effect only after the agent restarts: fleetctl agents restart ${name}`,
  ];
}

/**
 * Whether the planner put the MCP in place. An MCP that is reached by URL has no unit to look for,
 * so any fault of the run means that it did not.
 */
function isInPlace(report: Report, manifest: Manifest, agent: AgentRecord): boolean {
  if (manifest.transport === "http") return report.faults.length === 0;
  const owner = manifest.sharing === "shared" ? undefined : agent.name;
  const unit = `/${mcpSocketUnit(manifest.name, owner)}`;
  return report.files.some((file) => file.path.endsWith(unit) && file.change !== "removed");
}

function notWired(report: Report, options: Options, agent: AgentRecord) {
  const [first] = report.faults;
  return refusal(
    first?.code ?? "mcp-not-wired",
    `Cannot add MCP "${options.mcp}" to agent "${agent.name}": it could not be put in place, ` +
      `nothing was recorded`,
    {
      details: report.faults.flatMap((fault) => [fault.message, ...fault.details]),
      hints: report.faults.flatMap((fault) => fault.hints),
    },
  );
}
