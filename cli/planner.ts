/**
 * How verbs change a host: collect the facts, optionally try one change, then reconcile, all under
 * one lock. `mcp add` records its change only after the host was changed; `mcp remove` and
 * `agents set` record first, and the next `apply` finishes an interrupted one.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refusalOfFault } from "cli/exit.ts";
import {
  type Gathered,
  gatherFacts,
  type HostInputs,
  type TriedFacts,
  tryFacts,
} from "cli/facts.ts";
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
import type { OnLate } from "units/reconcile/execute.ts";
import { reconcile, type StepProgress, type Vendor } from "units/reconcile/run.ts";
import type { Scope } from "units/reconcile/scope.ts";
import { vendorAll } from "units/reconcile/vendor_all.ts";

/** How a verb reconciles. */
export interface PlanOptions {
  readonly dryRun: boolean;
  readonly restartAgents: boolean;
  /** Whether a new version replaces agents during their turns, too. */
  readonly replaceNow?: boolean;
  /** The part of the host to reconcile; the whole host when absent. */
  readonly scope?: Scope;
  /** Agents whose accounts a dry run assumes to exist. */
  readonly plannedAccounts?: readonly AgentName[];
  /** Receives slow units, as passed by `underAgentLock`. */
  readonly awaitLater?: OnLate;
  /**
   * Provides the package trees of MCPs. When absent, the default, which installs missing ones.
   */
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

/** Installing a tree takes longer than this, checking one does not. */
const LOOK_MS = 700;

/** Returns the input for collecting facts. */
export function hostInputs(context: VerbContext): HostInputs {
  const { ports, paths } = context;
  return {
    paths,
    hostname: ports.hostname,
    uid: ports.users.currentUid(),
    memoryBytes: ports.memoryBytes(),
  };
}

/** Returns the author of a ledger commit: `root`, the agent, or the user of a role. */
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
  return gatherFacts(context.ports, hostInputs(context), changed);
}

/**
 * Returns the facts with a change. Uses what was read under the same lock and reads nothing again.
 */
export function factsWith(
  context: VerbContext,
  read: Gathered,
  tried: TriedFacts,
): Promise<Result<Gathered>> {
  return tryFacts(context.ports, hostInputs(context), read, tried);
}

/** Runs `work` while no other verb changes this host. Waits in a queue (`cli/verb_lock.ts`). */
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
 * Like `underVerbLock`, for a verb about one agent. The agent controls how long its units take to
 * stop and start, so slow units are awaited after the lock is released.
 */
export async function underAgentLock(
  context: VerbContext,
  work: (awaitLater: OnLate) => Promise<Result<VerbReport>>,
): Promise<Result<VerbReport>> {
  const deferred: Promise<Refusal | undefined>[] = [];
  const done = await underVerbLock(context, () => work((one) => void deferred.push(one)));
  const found = (await Promise.all(deferred)).filter((fault) => fault !== undefined);
  if (!done.ok || found.length === 0) return done;
  const { json, faults = [] } = done.value;
  const all = [...faults, ...found];
  return ok({ ...done.value, faults: all, json: isRecord(json) ? { ...json, faults: all } : json });
}

/** Set in the environment of verbs that the daemon runs. */
export const UNDER_DAEMON = "FLEETCTL_UNDER_DAEMON";

/** Reconciles the host with these facts and shows each step as progress. */
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
    byAgent: !isOperator(context.caller),
    keepDaemon: context.env[UNDER_DAEMON] === "1",
    onStep: stepReporter(context),
  });
}

/** Returns the function that shows each step of a reconcile as progress. */
export function stepReporter(
  { ports, progress, terminal }: VerbContext,
): (step: StepProgress) => void {
  let begun = 0;
  return (step) => {
    if (step.state === "begin") begun = ports.clock.monotonic();
    // Without a terminal only slow steps are printed, because the report names every file anyway.
    const isLong = terminal.live || LONG_STEPS.includes(step.kind);
    // An MCP's tree nearly always exists, so a quick check of it is not reported.
    const isLook = step.kind === "vendor" && step.state === "done" && !terminal.live &&
      ports.clock.monotonic() - begun < LOOK_MS;
    if (isLong && !isLook) progress.step({ ...step, text: `${step.kind} ${step.subject}` });
  };
}

/**
 * Installs the trees for an agent's verb before it takes the lock, because a download may take
 * minutes. Under the lock nothing is installed: a tree that was not foreseen is left to the next
 * `apply`. Returns undefined for an operator, who decides for the whole host; the reconcile then
 * installs what is missing.
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
  await vendorAll(manifests, remember, stepReporter(context));
  return ok({ ensure: async ({ name }) => done.get(name) ?? err(notInstalled(name, agent)) });
}

function notInstalled(mcp: McpName, agent: AgentName): Refusal {
  return refusal(
    "tree-not-installed",
    `Cannot use MCP "${mcp}" for agent "${agent}" yet: it was wired while this verb waited`,
    { hints: [`fleetctl apply ${agent}`] },
  );
}

/** Reconciles the host with its ledger. Agents restart only if they must. */
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
 * Returns the report of a verb from the report of its reconcile; `last` are its closing lines. For
 * a verb about one agent, faults elsewhere do not count: an operator gets them as warnings, an
 * agent does not see them.
 */
export function planReport(
  report: Report,
  gathered: Gathered,
  more: {
    readonly json?: Readonly<Record<string, unknown>>;
    readonly last?: readonly string[];
    readonly warnings?: readonly Refusal[];
    /** The caller, when the verb is about one agent. */
    readonly singleAgentCaller?: Caller;
  } = {},
): VerbReport {
  const blocks: Block[] = [{ kind: "lines", lines: printReport(report) }];
  if (more.last !== undefined && more.last.length > 0) {
    blocks.push({ kind: "lines", lines: more.last });
  }
  const isAboutAll = more.singleAgentCaller === undefined;
  const elsewhere = more.singleAgentCaller !== undefined && isOperator(more.singleAgentCaller)
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

/** Removes duplicates, because the ledger and the reconcile may report the same fault. */
export function uniqueFaults(faults: readonly Refusal[]): readonly Refusal[] {
  const seen = new Map(faults.map((fault) => [`${fault.code} ${fault.message}`, fault]));
  return [...seen.values()];
}
