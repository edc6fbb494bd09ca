/**
 * `fleetctl agents add`: adds an agent to the ledger, pinned to this host. On a real host it also
 * creates a Unix user. Then it reconciles.
 *
 * @module
 */

import { readLimitOptions, withEdit } from "cli/agents/limit_options.ts";
import { ownerWarnings } from "cli/agents/owner_warnings.ts";
import { programWarnings } from "cli/agents/program_warnings.ts";
import { sandboxWarnings } from "cli/agents/sandbox_problems.ts";
import { readTextOptions, type TextFields, textOption } from "cli/agents/text_options.ts";
import { checkWorkspace } from "cli/agents/workspace_option.ts";
import type { VerbContext } from "cli/context.ts";
import { ensureState } from "cli/facts.ts";
import { collisionOf } from "cli/mcp/collision.ts";
import type { VerbReport } from "cli/output.ts";
import {
  authorOf,
  hostInputs,
  planReport,
  readFacts,
  reconcileFacts,
  underVerbLock,
} from "cli/planner.ts";
import {
  makePassword,
  passwordLine,
  readAccounts,
  setAccount,
} from "cli/webview_login/accounts.ts";
import { checkUnixUser, ensureUnixUser } from "cli/unix_user.ts";
import type { AgentLimits } from "core/limits/agent.ts";
import { defined } from "core/defined.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { type AgentRecord, type Channel, CHANNELS } from "core/ledger/agent.ts";
import { addAgent } from "core/ledger/agents.ts";
import { readLedgerWithFallback } from "core/ledger/fallback.ts";
import { checkUnique } from "core/ledger/ledger.ts";
import { DEFAULT_RUNTIME, parseShard, printShard, shardFile } from "core/ledger/shard.ts";
import { type AgentName, parseAgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { findDefinition, readDefinitions } from "core/runtimes/definitions.ts";
import { checkProvider } from "core/runtimes/model_choice.ts";
import { openSecrets } from "core/secrets/store.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl agents add`. */
export interface Options {
  readonly name: AgentName;
  readonly channel: Channel;
  readonly texts: TextFields;
  /** The owner gets a login with a password. */
  readonly hasLogin: boolean;
  readonly limits?: AgentLimits;
  readonly isDryRun: boolean;
}

/** Parses the arguments. Reports every fault at once. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const { args, options } = invocation;
  const faults: string[] = [];
  const name = parseAgentName(args.name ?? "");
  if (!name.ok) faults.push(name.error.message);
  const channel = CHANNELS.find((one) => one === options.channel);
  if (channel === undefined) {
    faults.push(`--channel is missing, must be one of ${CHANNELS.join(", ")}`);
  }
  const { fields: texts, emptied, faults: wrong } = readTextOptions(options);
  faults.push(...wrong, ...emptied.map((field) => `--${textOption(field)}: is empty`));
  const hasLogin = invocation.switches.has("login");
  if (hasLogin && options["user-email"] === undefined) {
    faults.push("--login: --user-email is missing, must be the owner's address");
  }
  const given = readLimitOptions(options);
  faults.push(...given.faults);
  const limits = withEdit(undefined, given.edit);
  if (!name.ok || channel === undefined || faults.length > 0) return err(badOptions(faults));
  return ok({
    name: name.value,
    channel,
    texts,
    hasLogin,
    ...defined({ limits }),
    isDryRun: invocation.switches.has("dry-run"),
  });
}

/** Checks the record, writes it to the ledger, creates the Unix user, and reconciles. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const inputs = hostInputs(context);
  const record = recordOf(context, options);
  const author = authorOf(context, "agents add");
  if (!options.isDryRun) {
    const state = await ensureState(context.ports, inputs, author);
    if (!state.ok) return state;
  }
  return await underVerbLock(context, async () => {
    const checked = await checkNewAgent(context, record);
    if (!checked.ok) return checked;
    const tried = await readFacts(context, { agent: record });
    if (!tried.ok) return tried;
    const collision = await collisionOf(context, tried.value.facts, {
      agent: record.name,
      cannot: (mcp) => `Cannot add agent "${record.name}" with its MCP "${mcp}"`,
    });
    if (collision !== undefined) return err(collision);
    const made = options.isDryRun ? ok(undefined) : await make(context, record, options);
    if (!made.ok) return made;
    // A new login changes the facts of the login proxy.
    const gathered = made.value === undefined ? tried : await readFacts(context);
    if (!gathered.ok) return gathered;
    const report = await reconcileFacts(context, gathered.value, {
      dryRun: options.isDryRun,
      restartAgents: false,
      plannedAccounts: [record.name],
    });
    if (!report.ok) return report;
    const tools = gathered.value.facts.wired.get(record.name) ?? [];
    const plan = planReport(report.value, gathered.value, {
      json: {
        agent: record.name,
        run_on: inputs.hostname,
        tools,
        dry_run: options.isDryRun,
        ...defined({ login: made.value }),
      },
      last: [
        `agent "${record.name}" ${
          options.isDryRun ? "would run" : "runs"
        } on "${inputs.hostname}" ` +
        `with ${tools.length === 0 ? "no MCPs" : tools.join(", ")}`,
        ...loginLines(options, made.value),
      ],
    });
    const { files } = context.ports;
    const { facts } = gathered.value;
    const warnings = [
      ...ownerWarnings(record),
      ...await programWarnings(files, facts, record),
      ...await sandboxWarnings(files, facts, record),
    ];
    return ok({ ...plan, warnings: [...plan.warnings ?? [], ...warnings] });
  });
}

/** A created login. Its password is shown once and not stored. */
interface MadeLogin {
  readonly address: string;
  readonly password: string;
}

/**
 * Creates record, account and login. Returns undefined when no login was requested or one exists.
 */
async function make(
  context: VerbContext,
  record: AgentRecord,
  { hasLogin, texts: { userEmail } }: Options,
): Promise<Result<MadeLogin | undefined>> {
  const { ports, paths } = context;
  const author = authorOf(context, "agents add");
  // Record first: the next `apply` then finishes an interrupted reconcile.
  const added = await addAgent(ports, paths, { ...author, record });
  if (!added.ok) return added;
  const user = await ensureUnixUser(context, record.name);
  if (!user.ok) return user;
  if (!hasLogin || userEmail === undefined) return ok(undefined);
  const secrets = await openSecrets(ports, paths);
  if (!secrets.ok) return secrets;
  const accounts = readAccounts(secrets.value);
  if (!accounts.ok) return accounts;
  if (accounts.value.some(({ name }) => name === userEmail)) return ok(undefined);
  const password = makePassword(ports.random);
  const by = { random: ports.random, author };
  const set = await setAccount(secrets.value, { name: userEmail, password }, by);
  return set.ok ? ok({ address: userEmail, password }) : set;
}

function loginLines(options: Options, made: MadeLogin | undefined): readonly string[] {
  const { hasLogin, isDryRun, texts: { userEmail } } = options;
  if (!hasLogin || userEmail === undefined) return [];
  if (made !== undefined) return [passwordLine(made.address, made.password)];
  return [isDryRun ? `${userEmail} would have a login` : `${userEmail} keeps the login it has`];
}

function recordOf(context: VerbContext, options: Options): AgentRecord {
  const { name, channel, texts, limits } = options;
  return {
    name,
    channel,
    runtime: DEFAULT_RUNTIME,
    ...texts,
    ...defined({ limits }),
    runOn: context.ports.hostname,
    isAdmin: false,
    tools: { add: [], remove: [] },
    created: new Date(context.ports.clock.now()).toISOString(),
  };
}

/** Checks every reason for a refusal before anything changes. */
async function checkNewAgent(context: VerbContext, record: AgentRecord): Promise<Result<void>> {
  const { ports, paths } = context;
  const ledger = await readLedgerWithFallback(ports, paths);
  if (!ledger.ok) return ledger;
  if (await ports.files.stat(paths.agentShard(record.name)) !== undefined) {
    return err(refusal("agent-exists", `Cannot add agent "${record.name}": it is in the ledger`, {
      hints: ["fleetctl agents list"],
    }));
  }
  if (await ports.files.stat(paths.removal(record.name)) !== undefined) {
    return err(refusal(
      "agent-half-removed",
      `Cannot add agent "${record.name}": its removal is not finished`,
      { hints: [`fleetctl agents remove ${record.name} --yes`] },
    ));
  }
  const checked = checkWorkspace(record.name, record.workspace, paths);
  if (!checked.ok) return checked;
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
