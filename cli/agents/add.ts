/**
 * `fleetctl agents add`: a new agent in the ledger, pinned to this host, with a Unix user on a real
 * host, then one run of the planner. Spec "Command-line verbs", "Default MCP sets".
 *
 * @module
 */

import { ownerWarnings } from "cli/agents/owner_warnings.ts";
import type { VerbContext } from "cli/context.ts";
import { ensureState } from "cli/facts.ts";
import { collisionOf } from "cli/mcp/collision.ts";
import type { VerbReport } from "cli/output.ts";
import {
  authorOf,
  planReport,
  readFacts,
  reconcileFacts,
  siteOf,
  underVerbLock,
} from "cli/planner.ts";
import { checkUnixUser, ensureUnixUser } from "cli/unix_user.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { parseFieldText } from "core/field_reader.ts";
import { type AgentRecord, type Channel, CHANNELS } from "core/ledger/agent.ts";
import { addAgent } from "core/ledger/agents.ts";
import { readKeptLedger } from "core/ledger/kept.ts";
import { checkUnique } from "core/ledger/ledger.ts";
import { DEFAULT_RUNTIME, parseShard, printShard, shardFile } from "core/ledger/shard.ts";
import {
  type AgentName,
  type Email,
  type ObjectId,
  parseAgentName,
  parseEmail,
  parseObjectId,
} from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { findDefinition, readDefinitions } from "core/runtimes/definitions.ts";
import { checkProvider } from "core/runtimes/model_choice.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** What `fleetctl agents add` was asked for. */
export interface Options {
  readonly name: AgentName;
  readonly channel: Channel;
  readonly userEmail?: Email;
  readonly ownerAad?: ObjectId;
  readonly ownerEmail?: Email;
  readonly runtime: string;
  readonly provider?: string;
  readonly model?: string;
  readonly isDryRun: boolean;
}

/** Parses the arguments; every fault at once. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const { args, options } = invocation;
  const faults: string[] = [];
  function read<T>(option: string, parse: (text: string) => Result<T>): T | undefined {
    const text = options[option];
    const parsed = text === undefined ? undefined : parse(text);
    if (parsed?.ok === false) faults.push(`--${option}: ${parsed.error.message}`);
    return parsed?.ok ? parsed.value : undefined;
  }
  const name = parseAgentName(args.name ?? "");
  if (!name.ok) faults.push(name.error.message);
  const channel = CHANNELS.find((one) => one === options.channel);
  if (channel === undefined) {
    faults.push(`--channel is missing, must be one of ${CHANNELS.join(", ")}`);
  }
  const userEmail = read("user-email", parseEmail);
  const ownerAad = read("owner-aad", parseObjectId);
  const ownerEmail = read("owner-email", parseEmail);
  for (const option of ["runtime", "provider", "model"]) read(option, parseFieldText);
  if (!name.ok || channel === undefined || faults.length > 0) return err(badOptions(faults));
  return ok({
    name: name.value,
    channel,
    ...(userEmail === undefined ? {} : { userEmail }),
    ...(ownerAad === undefined ? {} : { ownerAad }),
    ...(ownerEmail === undefined ? {} : { ownerEmail }),
    runtime: options.runtime ?? DEFAULT_RUNTIME,
    ...(options.provider === undefined ? {} : { provider: options.provider }),
    ...(options.model === undefined ? {} : { model: options.model }),
    isDryRun: invocation.switches.has("dry-run"),
  });
}

/** Checks, creates the Unix user, reconciles with the new agent, and records it. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const site = siteOf(context);
  const record = recordOf(context, options);
  const author = authorOf(context, "agents add");
  if (!options.isDryRun) {
    const state = await ensureState(context.ports, site, author);
    if (!state.ok) return state;
  }
  return await underVerbLock(context, async () => {
    const checked = await checkNewAgent(context, record);
    if (!checked.ok) return checked;
    const gathered = await readFacts(context, { agent: record });
    if (!gathered.ok) return gathered;
    const collision = await collisionOf(context, gathered.value.facts, {
      agent: record.name,
      cannot: (mcp) => `Cannot add agent "${record.name}" with its MCP "${mcp}"`,
    });
    if (collision !== undefined) return err(collision);
    if (!options.isDryRun) {
      // The record goes first: a planner that is cut short is finished by the next apply.
      const added = await addAgent(context.ports, context.paths, { ...author, record });
      if (!added.ok) return added;
      const user = await ensureUnixUser(context, record.name);
      if (!user.ok) return user;
    }
    const report = await reconcileFacts(context, gathered.value, {
      dryRun: options.isDryRun,
      restartAgents: false,
      comingAccounts: [record.name],
    });
    if (!report.ok) return report;
    const tools = gathered.value.facts.wired.get(record.name) ?? [];
    const told = planReport(report.value, gathered.value, {
      json: { agent: record.name, run_on: site.hostname, tools, dry_run: options.isDryRun },
      last: [
        `agent "${record.name}" ${options.isDryRun ? "would run" : "runs"} on "${site.hostname}" ` +
        `with ${tools.length === 0 ? "no MCPs" : tools.join(", ")}`,
      ],
    });
    return ok({ ...told, warnings: [...told.warnings ?? [], ...ownerWarnings(record)] });
  });
}

function recordOf(context: VerbContext, options: Options): AgentRecord {
  const { isDryRun: _, ...fields } = options;
  return {
    ...fields,
    runOn: context.ports.hostname,
    isAdmin: false,
    tools: { add: [], remove: [] },
    created: new Date(context.ports.clock.now()).toISOString(),
  };
}

/** Asks everything that can be refused before anything is changed. */
async function checkNewAgent(context: VerbContext, record: AgentRecord): Promise<Result<void>> {
  const { ports, paths } = context;
  const ledger = await readKeptLedger(ports, paths);
  if (!ledger.ok) return ledger;
  if (await ports.files.stat(paths.agentShard(record.name)) !== undefined) {
    return err(refusal("agent-exists", `Cannot add agent "${record.name}": it is in the ledger`, {
      hints: ["fleetctl agents list"],
    }));
  }
  if (await ports.files.stat(paths.removal(record.name)) !== undefined) {
    return err(refusal(
      "agent-half-removed",
      `Cannot add agent "${record.name}": its removal was begun and not ended`,
      { hints: [`fleetctl agents remove ${record.name} --yes`] },
    ));
  }
  const unique = checkUnique(ledger.value, record);
  if (!unique.ok) return unique;
  const readable = parseShard(printShard(record), shardFile(record.name));
  if (!readable.ok) return readable;
  const runtime = findDefinition(await readDefinitions(ports.files, paths), record.runtime);
  if (!runtime.ok) return runtime;
  const provider = checkProvider(runtime.value, record.provider);
  return provider.ok ? await checkUnixUser(context, record.name) : provider;
}

function badOptions(faults: readonly string[]): Refusal {
  const [first] = faults;
  return refusal(
    "options-invalid",
    faults.length === 1
      ? `Cannot add an agent: ${first}`
      : `Cannot add an agent: ${faults.length} options are unusable`,
    {
      kind: "usage",
      details: faults.length === 1 ? [] : faults,
      hints: ["fleetctl agents add --help"],
    },
  );
}
