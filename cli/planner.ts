/**
 * The one way in which verbs change a host: facts, perhaps with one change tried out, then the
 * planner, under one lock. A change of the ledger is recorded by the verb after the
 * planner took it, so that a verb that was cut short leaves no promise behind.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refusalOfFault } from "cli/exit.ts";
import { type Gathered, gatherFacts, type HostSite, type TriedFacts, tryFacts } from "cli/facts.ts";
import { reconcilePorts } from "cli/reconcile_ports.ts";
import { sweepTempFiles } from "cli/sweep.ts";
import { takeVerbLock } from "cli/verb_lock.ts";
import type { Block, VerbReport } from "cli/output.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { isRecord } from "core/text/json_object.ts";
import type { AgentName, McpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import {
  type Caller,
  callerAgent,
  GATEWAY_USER,
  HOST_USER,
  isOperator,
} from "core/verbs/caller.ts";
import { printReport, type Report, reportJson } from "units/reconcile/report.ts";
import type { TakeLate } from "units/reconcile/execute.ts";
import { reconcile, type StepProgress, type Vendor } from "units/reconcile/run.ts";
import type { Scope } from "units/reconcile/scope.ts";
import { vendorAll } from "units/reconcile/vendor_all.ts";

/** How a verb reconciles. */
export interface PlanOptions {
  readonly dryRun: boolean;
  readonly restartAgents: boolean;
  /** How far it reaches; the whole host when absent. */
  readonly scope?: Scope;
  /** Agents whose accounts a dry run takes for made. */
  readonly comingAccounts?: readonly AgentName[];
  /** Takes units that are slow, as `underAgentLock` gives it. */
  readonly late?: TakeLate;
  /** Puts trees in place; installs what is missing when absent. */
  readonly vendor?: Vendor;
}

/** Steps that may take seconds. */
const LONG_STEPS: readonly StepProgress["kind"][] = [
  "vendor",
  "start",
  "restart",
  "bounce",
  "stop",
];

/** A tree that is installed takes longer than this; one that is looked at does not. */
const LOOK_MS = 700;

/** Returns what gathering needs, from a context. */
export function siteOf(context: VerbContext): HostSite {
  const { ports, paths } = context;
  return {
    paths,
    hostname: ports.hostname,
    uid: ports.users.currentUid(),
    memoryBytes: ports.memoryBytes(),
  };
}

/** Returns who a commit in the ledger names: `root`, the agent, or the user of a role. */
export function authorOf(context: VerbContext, verb: string) {
  const { caller } = context;
  const name = caller.kind === "gateway"
    ? GATEWAY_USER
    : caller.kind === "host"
    ? HOST_USER
    : callerAgent(caller);
  return { verb, caller: name ?? "root" };
}

/** Reads all facts of this host. */
export function readFacts(
  context: VerbContext,
  changed?: TriedFacts,
): Promise<Result<Gathered>> {
  return gatherFacts(context.ports, siteOf(context), changed);
}

/**
 * Returns the facts as they would be with a change; what was read under this lock is
 * not read again.
 */
export function factsWith(
  context: VerbContext,
  read: Gathered,
  tried: TriedFacts,
): Promise<Result<Gathered>> {
  return tryFacts(context.ports, siteOf(context), read, tried);
}

/** Runs `work` while no other verb changes this host; waits for its turn (`cli/verb_lock.ts`). */
export async function underVerbLock<T>(
  context: VerbContext,
  work: () => Promise<Result<T>>,
): Promise<Result<T>> {
  const { caller: { uid }, paths, ports, progress } = context;
  const onWait = () =>
    progress.step({ text: "waiting for another verb to end", state: "begin", index: 0, total: 1 });
  try {
    const lock = await takeVerbLock(ports, paths, { uid, onWait });
    try {
      await sweepTempFiles(context.ports, context.paths);
      return await work();
    } finally {
      await lock.release();
    }
  } catch (thrown) {
    return err(refusalOfFault(thrown, "change this host"));
  }
}

/**
 * Like `underVerbLock`, for a verb about one agent. The agent decides how long its units take to
 * stop and to start: so what is slow is waited for after the lock was given back.
 */
export async function underAgentLock(
  context: VerbContext,
  work: (late: TakeLate) => Promise<Result<VerbReport>>,
): Promise<Result<VerbReport>> {
  const late: Promise<Refusal | undefined>[] = [];
  const done = await underVerbLock(context, () => work((one) => void late.push(one)));
  const found = (await Promise.all(late)).filter((fault) => fault !== undefined);
  if (!done.ok || found.length === 0) return done;
  const { json, faults = [] } = done.value;
  const all = [...faults, ...found];
  return ok({ ...done.value, faults: all, json: isRecord(json) ? { ...json, faults: all } : json });
}

/** Set in the environment of verbs that the daemon runs. */
export const UNDER_DAEMON = "FLEETCTL_UNDER_DAEMON";

/** Runs the planner; progress is shown step by step. */
export async function reconcileFacts(
  context: VerbContext,
  gathered: Gathered,
  options: PlanOptions,
): Promise<Result<Report>> {
  const { ports, paths } = context;
  const { vendor, ...how } = options;
  const machine = reconcilePorts(context, ports.services(paths));
  return await reconcile(gathered.facts, vendor === undefined ? machine : { ...machine, vendor }, {
    ...how,
    isAgents: !isOperator(context.caller),
    keepDaemon: context.env[UNDER_DAEMON] === "1",
    onStep: stepTeller(context),
  });
}

/** Returns what shows each step of the planner as progress. */
function stepTeller({ ports, progress, terminal }: VerbContext): (step: StepProgress) => void {
  let begun = 0;
  return (step) => {
    if (step.state === "begin") begun = ports.clock.monotonic();
    // Off a terminal only what takes time gets a line: the report names every file anyway.
    const isLong = terminal.live || LONG_STEPS.includes(step.kind);
    // Nearly always the tree of an MCP is there, and that it was looked at is no news.
    const isLook = step.kind === "vendor" && step.state === "done" && !terminal.live &&
      ports.clock.monotonic() - begun < LOOK_MS;
    if (isLong && !isLook) progress.step({ ...step, text: `${step.kind} ${step.subject}` });
  };
}

/**
 * Installs the trees that an agent's verb needs before it takes the lock, because a download may
 * take minutes. Under the lock nothing is installed then: what was not foreseen is left to the next
 * `apply`. An operator decides for the whole host, and gets undefined: the planner installs what is
 * missing.
 */
export async function installFirst(
  context: VerbContext,
  agent: AgentName,
  more: readonly McpName[] = [],
): Promise<Result<Vendor | undefined>> {
  if (isOperator(context.caller)) return ok(undefined);
  const gathered = await readFacts(context);
  if (!gathered.ok) return gathered;
  const { catalog, wired } = gathered.value.facts;
  const { vendor } = reconcilePorts(context, context.ports.services(context.paths));
  const done = new Map<McpName, Awaited<ReturnType<Vendor["ensure"]>>>();
  const manifests = [...new Set([...wired.get(agent) ?? [], ...more])]
    .map((name) => catalog.get(name)).filter((manifest) => manifest !== undefined);
  const remember: Vendor = {
    ensure: async (manifest) => {
      const ensured = await vendor.ensure(manifest);
      done.set(manifest.name, ensured);
      return ensured;
    },
  };
  await vendorAll(manifests, remember, stepTeller(context));
  return ok({ ensure: async ({ name }) => done.get(name) ?? err(notInstalled(name, agent)) });
}

function notInstalled(mcp: McpName, agent: AgentName): Refusal {
  return refusal(
    "tree-not-installed",
    `Cannot use MCP "${mcp}" for agent "${agent}" yet: it was wired while this verb waited`,
    { hints: [`fleetctl apply ${agent}`] },
  );
}

/** Brings the host to what its ledger says now; agents restart only where they must. */
export async function followLedger(
  context: VerbContext,
): Promise<Result<{ readonly gathered: Gathered; readonly report: Report }>> {
  const gathered = await readFacts(context);
  if (!gathered.ok) return gathered;
  const report = await reconcileFacts(context, gathered.value, {
    dryRun: false,
    restartAgents: false,
  });
  return report.ok ? ok({ gathered: gathered.value, report: report.value }) : report;
}

/**
 * Returns a report of the planner as the report of a verb; `last` are its closing lines. A verb
 * about one agent did what it was asked whatever is wrong elsewhere: that is then a warning for an
 * operator, and nothing to an agent.
 */
export function planReport(
  report: Report,
  gathered: Gathered,
  more: {
    readonly json?: Readonly<Record<string, unknown>>;
    readonly last?: readonly string[];
    readonly warnings?: readonly Refusal[];
    /** Who asked, when the verb is about one agent. */
    readonly aboutOneFor?: Caller;
  } = {},
): VerbReport {
  const blocks: Block[] = [{ kind: "lines", lines: printReport(report) }];
  if (more.last !== undefined && more.last.length > 0) {
    blocks.push({ kind: "lines", lines: more.last });
  }
  const isAboutAll = more.aboutOneFor === undefined;
  const elsewhere = more.aboutOneFor !== undefined && isOperator(more.aboutOneFor)
    ? gathered.faults
    : [];
  const faults = uniqueFaults([...isAboutAll ? gathered.faults : [], ...report.faults]);
  return {
    json: { ...more.json, ...reportJson({ ...report, faults }) },
    blocks,
    faults,
    warnings: [
      ...report.warnings.map((text) => refusal("planner-warning", text)),
      ...more.warnings ?? [],
      ...uniqueFaults(elsewhere).filter((fault) => !faults.includes(fault)),
    ],
  };
}

/** The ledger and the planner may name the same fault; people read it once. */
export function uniqueFaults(faults: readonly Refusal[]): readonly Refusal[] {
  const seen = new Map(faults.map((fault) => [`${fault.code} ${fault.message}`, fault]));
  return [...seen.values()];
}
