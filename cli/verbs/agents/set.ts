/**
 * `fleetctl agents set`: changes the record of an agent and reconciles. `run_on` can be set
 * only for an agent that is not pinned. Moving a pinned agent needs an edit of the ledger, because
 * two hosts must agree on it.
 *
 * @module
 */

import { commandOn } from "cli/agent_here.ts";
import { readLimitOptions, withEdit } from "cli/agents/limit_options.ts";
import { ownerWarnings } from "cli/agents/owner_warnings.ts";
import { programWarnings } from "cli/agents/program_warnings.ts";
import { sandboxWarnings } from "cli/agents/sandbox_problems.ts";
import { readTextOptions } from "cli/agents/text_options.ts";
import { checkWorkspace } from "cli/agents/workspace_option.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { authorOf, followLedger, planReport, underVerbLock } from "cli/planner.ts";
import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { type AgentRecord, CHANNELS } from "core/ledger/agent.ts";
import { changeAgent } from "core/ledger/agents.ts";
import type { ShardEdit } from "core/ledger/shard.ts";
import { limitsFault } from "core/limits/agent.ts";
import { type AgentName, parseAgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { findDefinition, readDefinitions } from "core/runtimes/definitions.ts";
import { checkProvider } from "core/runtimes/model_choice.ts";
import { callerAgent } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl agents set`. */
export interface Options {
  readonly name: AgentName;
  readonly edit: ShardEdit;
  /** Names of the changed fields, as in the shard. */
  readonly changed: readonly string[];
  /** Only limits, the ceiling and `admin` change. They apply to a running agent. */
  readonly isAtOnce: boolean;
}

/** Fields that take effect in running programs, besides limits. */
const AT_ONCE: readonly string[] = ["ceiling", "admin"];

/** Parses the arguments. Reports every fault at once. An empty value removes an optional field. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const { args, options, switches } = invocation;
  const faults: string[] = [];
  const changed: string[] = [];
  const name = parseAgentName(args.name ?? "");
  if (!name.ok) faults.push(name.error.message);
  const channel = CHANNELS.find((one) => one === options.channel);
  if (options.channel !== undefined) changed.push("channel");
  const texts = readTextOptions(options);
  changed.push(...texts.keys);
  faults.push(...texts.faults);
  const { admin } = options;
  if (admin === "yes" && !switches.has("yes")) return err(notConfirmed());
  if (admin !== undefined) changed.push("admin");
  const limits = readLimitOptions(options);
  changed.push(...limits.keys);
  faults.push(...limits.faults);
  if (options["run-on"] === "") faults.push("--run-on: is empty, must name a host");
  if (options.runtime === "") faults.push("--runtime: is empty, must name a runtime");
  if (name.ok && changed.length === 0) {
    faults.push("no field is given, must be at least one option");
  }
  if (!name.ok || faults.length > 0) return err(badOptions(faults));
  return ok({
    name: name.value,
    changed,
    isAtOnce: changed.every((key) => AT_ONCE.includes(key) || limits.keys.includes(key)),
    edit: {
      ...Object.fromEntries(texts.emptied.map((field) => [field, undefined])),
      ...texts.fields,
      ...defined({ channel, isAdmin: admin === undefined ? undefined : admin === "yes" }),
      ...(limits.keys.length === 0 ? {} : { limits: limits.edit }),
    },
  });
}

/** Records the change, then reconciles the host. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const { name, edit, changed } = options;
  const checked = checkWorkspace(name, edit.workspace, paths);
  if (!checked.ok) return checked;
  const definitions = await readDefinitions(ports.files, paths);
  return await underVerbLock(context, async () => {
    const recorded = await changeAgent(ports, paths, {
      ...authorOf(context, "agents set"),
      agent: name,
      summary: `${changed.join(", ")} of agent "${name}"`,
      decide: (record) => {
        const pinned = checkRunOn(context, record, edit);
        if (!pinned.ok) return pinned;
        const asks = checkAsk(context, record, edit);
        if (!asks.ok) return asks;
        const spends = checkCeiling(context, record, edit);
        if (!spends.ok) return spends;
        const rights = checkAdmin(context, record, edit);
        if (!rights.ok) return rights;
        const fault = limitsFault(withEdit(record.limits, edit.limits ?? {}) ?? {});
        if (fault !== undefined) return err(badOptions([fault]));
        if (edit.runtime === undefined && edit.provider === undefined) return ok(edit);
        const runtime = findDefinition(definitions, edit.runtime ?? record.runtime);
        if (!runtime.ok) return runtime;
        const provider = checkProvider(
          runtime.value,
          Object.hasOwn(edit, "provider") ? edit.provider : record.provider,
        );
        return provider.ok ? ok(edit) : provider;
      },
    });
    if (!recorded.ok) return recorded;
    const followed = await followLedger(context);
    if (!followed.ok) return followed;
    const { gathered, report } = followed.value;
    const isSame = recorded.value.changed.length === 0;
    const record = gathered.ledger.agents.get(name);
    const warnings = record === undefined ? [] : [
      ...ownerWarnings(record),
      ...await programWarnings(ports.files, gathered.facts, record),
      ...await sandboxWarnings(ports.files, gathered.facts, record),
    ];
    const plan = planReport(report, gathered, {
      json: { agent: name, changed: isSame ? [] : changed },
      last: [
        isSame
          ? `agent "${name}" is unchanged`
          : changedText(options, gathered.facts.limits !== undefined),
      ],
    });
    return ok({ ...plan, warnings: [...plan.warnings ?? [], ...warnings] });
  });
}

function changedText({ name, changed, isAtOnce }: Options, areEnforced: boolean): string {
  const text = `agent "${name}" has a new ${changed.join(", ")}`;
  if (!isAtOnce) return `${text}; takes effect after: fleetctl agents restart ${name}`;
  const hasLimits = changed.some((key) => !AT_ONCE.includes(key));
  return areEnforced || !hasLimits
    ? `${text}, from now on`
    : `${text}; enforced under systemd only`;
}

/**
 * Allows pinning an unpinned agent to this host: it continues here, and the other hosts stop it.
 * Moving a pinned agent involves two hosts, which a verb on one host cannot coordinate.
 */
function checkRunOn(
  { ports, typed }: VerbContext,
  { name, runOn }: AgentRecord,
  edit: ShardEdit,
): Result<void> {
  if (edit.runOn === undefined || edit.runOn === runOn) return ok(undefined);
  const of = `Cannot set run_on of agent "${name}"`;
  if (runOn !== undefined) {
    return err(refusal(
      "run-on-not-settable",
      `${of}: it is pinned to "${runOn}", must be moved by an edit of its shard in the ledger`,
      {
        kind: "usage",
        details: [`edit run_on in agents.d/${name}.yaml of the ledger first`],
        hints: ["fleetctl apply"],
      },
    ));
  }
  if (edit.runOn === ports.hostname) return ok(undefined);
  return err(refusal(
    "run-on-not-settable",
    `${of} to "${edit.runOn}" on host "${ports.hostname}": must be set on host "${edit.runOn}"`,
    { kind: "usage", hints: [commandOn(edit.runOn, typed)] },
  ));
}

/**
 * An admin agent may set what other agents ask about. For itself it would decide about its own
 * calls, as with `approvals approve`.
 */
function checkAsk(
  { caller }: VerbContext,
  { name, ask }: AgentRecord,
  edit: ShardEdit,
): Result<void> {
  const isSame = !Object.hasOwn(edit, "ask") || edit.ask === ask;
  if (isSame || callerAgent(caller) !== name) return ok(undefined);
  return err(refusal(
    "ask-not-yours",
    `Cannot set what agent "${name}" asks about: the caller is the agent itself, must be another ` +
      "admin agent or an operator",
    { kind: "denied" },
  ));
}

/** Only root decides who is an admin: an admin agent must not spread its rights. */
function checkAdmin(
  { caller }: VerbContext,
  { name, isAdmin }: AgentRecord,
  edit: ShardEdit,
): Result<void> {
  const isSame = !Object.hasOwn(edit, "isAdmin") || edit.isAdmin === isAdmin;
  if (isSame || callerAgent(caller) === undefined) return ok(undefined);
  return err(refusal(
    "admin-root-only",
    `Cannot set admin of agent "${name}": the caller is an agent, must be root`,
    { kind: "denied" },
  ));
}

function notConfirmed() {
  return refusal("not-confirmed", 'Cannot run "agents set": must be confirmed with --yes', {
    kind: "usage",
    hints: ["fleetctl agents set --help"],
  });
}

/** An admin agent may not change its own ceiling. */
function checkCeiling(
  { caller }: VerbContext,
  { name, ceiling }: AgentRecord,
  edit: ShardEdit,
): Result<void> {
  const isSame = !Object.hasOwn(edit, "ceiling") || edit.ceiling === ceiling;
  if (isSame || callerAgent(caller) !== name) return ok(undefined);
  return err(refusal(
    "ceiling-not-yours",
    `Cannot set the ceiling of agent "${name}": the caller is the agent itself, must be another ` +
      "admin agent or an operator",
    { kind: "denied" },
  ));
}

function badOptions(faults: readonly string[]) {
  return refusal("options-invalid", `Cannot set an agent: ${faults.join("; ")}`, {
    kind: "usage",
    hints: ["fleetctl agents set --help"],
  });
}
