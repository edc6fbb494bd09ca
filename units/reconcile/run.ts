/**
 * The only code that changes a host: reads facts, compares the observed state, executes ordered
 * steps and returns a report. `up`, `apply`, `mcp add|remove`, `agents add` and `… install` all
 * call it. Level-based and idempotent: a second run with the same facts changes nothing. Overview:
 * docs/design.md#from-a-fact-to-a-running-unit.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import { ServiceFault } from "units/manager/service_manager.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { desire, type Desired } from "units/reconcile/desired.ts";
import { execute, type Executed, type ExecutePorts, type OnLate } from "units/reconcile/execute.ts";
import type { Facts } from "units/reconcile/facts.ts";
import { finalRecord } from "units/reconcile/final_record.ts";
import { type HomeFiles, type Homes, ownHomeFiles } from "units/reconcile/home_files.ts";
import { observe, type ObservePorts } from "units/reconcile/observe.ts";
import { findOwners, type Owners } from "units/reconcile/owners.ts";
import { type Plan, plan } from "units/reconcile/plan.ts";
import type { ReconcilePorts, StepProgress } from "units/reconcile/ports.ts";
import {
  EMPTY_RECORD,
  parseRecord,
  printRecord,
  recordPath,
  type RenderRecord,
} from "units/reconcile/record.ts";
import { type Report, type UnitLine, waitingLines } from "units/reconcile/report.ts";
import { narrow, narrowRecord, type Scope } from "units/reconcile/scope.ts";
import { unitOwners } from "units/reconcile/server_claims.ts";
import { progressKind, type Step, stepSubject } from "units/reconcile/step.ts";
import { stampWritten } from "units/reconcile/stamp_written.ts";
import { vendorAll, type Vendored } from "units/reconcile/vendor_all.ts";
import { DAEMON_UNIT } from "units/render/unit_name.ts";

export type { ReconcilePorts, StepProgress, Vendor } from "units/reconcile/ports.ts";

/** Options of a reconcile. */
export interface ReconcileOptions {
  /** Plans and reports with diffs; changes nothing. */
  readonly dryRun?: boolean;
  readonly onStep?: (progress: StepProgress) => void;
  /**
   * Whether running dial units whose own unit, client config or program changed are restarted, and
   * stopped ones started (`apply`, `up`: true). Otherwise they are listed as pending (`mcp add`).
   * Default false.
   */
  readonly restartAgents?: boolean;
  /** Whether a new version replaces agents during their turns, too (`apply --now`). */
  readonly replaceNow?: boolean;
  /**
   * This run is a child of the daemon, which must outlive it: the daemon is reported, not
   * restarted.
   */
  readonly keepDaemon?: boolean;
  /** Scope of this run; the whole host when absent. */
  readonly scope?: Scope;
  /** An agent requested this run: its home may delay others at the lock only for a short time. */
  readonly byAgent?: boolean;
  /** Agents whose accounts do not exist yet, but will before the run that a dry run simulates. */
  readonly plannedAccounts?: readonly AgentName[];
  /**
   * Receives units that are slow to start or stop, so that the caller can release its lock first.
   */
  readonly awaitLater?: OnLate;
}

/** Time limit per home in an operator's run. A disk may be slow. */
const HOME_MS_MAX = 10_000;
/**
 * Time limit per home in an agent's own verb, which holds the host's lock. Together with the wait
 * for its units, it delays others by a second at most.
 */
const OWN_HOME_MS_MAX = 700;
/** How long a run waits for units when slow units are awaited later. */
const UNITS_MS_MAX = 300;

const NOTHING_VENDORED: Vendored = { changed: new Set(), failed: new Set(), faults: [] };

/**
 * Makes the host match `facts`. The refusal is for faults that stop the whole run (no space, no
 * right).
 */
export async function reconcile(
  facts: Facts,
  ports: ReconcilePorts,
  options: ReconcileOptions = {},
): Promise<Result<Report>> {
  const { files } = ports;
  const { paths } = facts;
  const isShort = options.scope !== undefined && options.byAgent === true;
  const homes = ports.openHomes(isShort ? OWN_HOME_MS_MAX : HOME_MS_MAX);
  try {
    if (options.dryRun === true) return await reconcileLocked(facts, ports, homes, options);
    await files.ensureDir(paths.locks, { mode: 0o700 });
    const lock = await files.lock(`${paths.locks}/reconcile.lock`);
    try {
      return await reconcileLocked(facts, ports, homes, options);
    } finally {
      await lock.release();
    }
  } catch (thrown) {
    if (thrown instanceof FileFault) return err(fileRefusal(thrown, facts));
    if (thrown instanceof ServiceFault) {
      return err(refusal("manager-failed", thrown.message, { hints: ["fleetctl status"] }));
    }
    throw thrown;
  } finally {
    await homes.close();
  }
}

async function reconcileLocked(
  facts: Facts,
  ports: ReconcilePorts,
  homes: Homes,
  options: ReconcileOptions,
): Promise<Result<Report>> {
  const { paths } = facts;
  const isDry = options.dryRun === true;
  const owners = await findOwners(facts, ports.users, {
    scope: options.scope,
    coming: isDry ? options.plannedAccounts ?? [] : [],
  });
  if (!owners.ok) return owners;
  const before = await ports.files.readText(recordPath(paths));
  const parsed = before === undefined ? EMPTY_RECORD : parseRecord(before);
  const record = parsed ?? EMPTY_RECORD;
  const { vendored, whole, desired } = await desireVendored(
    withoutMissing(facts, owners.value.missing),
    { record, vendor: ports.vendor },
    options,
  );
  const fatal = whole.faults.find((fault) => fault.code === "path-unusable");
  if (fatal !== undefined) return err(fatal);
  const machine: ExecutePorts & ObservePorts = {
    files: ports.files,
    services: ports.services,
    dials: ports.dials,
    homeOf: homeOf(facts, ports.files, homes, owners.value),
  };
  const observed = await observe(desired, narrowRecord(record, options.scope), {
    paths,
    ports: machine,
    owners: owners.value.ids,
    bundleDir: facts.shape.kind === "bundle" ? facts.shape.dir : undefined,
  });
  const planned = plan(desired, observed, {
    paths,
    record,
    restartAgents: options.restartAgents === true,
    replaceNow: options.replaceNow === true,
    now: ports.clock.now(),
    keepDaemon: options.keepDaemon === true,
    withDiffs: isDry,
    scope: options.scope,
  });
  const executed = isDry
    ? ok(simulated(planned))
    : await execute(planned.steps, machine, executionContext(planned, paths, ports, options));
  if (!executed.ok) return executed;
  const done = { planned, executed: executed.value, desired };
  if (!isDry) await writeRecord(ports.files, paths, record, done);
  return ok({
    ...changesOf(done),
    dryRun: isDry,
    vendored: [...vendored.changed].sort(),
    faults: [
      ...owners.value.faults,
      ...vendored.faults,
      ...desired.faults,
      ...planned.faults,
      ...executed.value.faults,
    ],
    warnings: warningsOf(desired, {
      isRecordLost: parsed === undefined,
      isManagerRunning: observed.isManagerRunning,
      isDaemonStale: planned.units.isDaemonStale,
      isRootless: facts.rootless,
    }),
  });
}

/** Computes the desired state; repeats it without the MCPs that could not be vendored. */
async function desireVendored(
  facts: Facts,
  { record, vendor }: { readonly record: RenderRecord } & Pick<ReconcilePorts, "vendor">,
  { dryRun, scope, onStep }: ReconcileOptions,
): Promise<{ readonly vendored: Vendored; readonly whole: Desired; readonly desired: Desired }> {
  const owners = unitOwners(record, facts.paths);
  const first = desire(facts, { owners });
  const vendored = dryRun === true ? NOTHING_VENDORED : await vendorAll(
    narrow(first, facts, scope).vendors,
    vendor,
    (progress) => onStep?.(progress),
  );
  const { failed } = vendored;
  const whole = failed.size === 0 ? first : desire(facts, { failed, owners });
  return { vendored, whole, desired: narrow(whole, facts, scope) };
}

/** Returns the dependencies and callbacks for the execution of a plan. */
function executionContext(
  { steps }: Plan,
  paths: Paths,
  { clock }: Pick<ReconcilePorts, "clock">,
  { awaitLater, onStep }: ReconcileOptions,
): Parameters<typeof execute>[2] {
  return {
    paths,
    patience: awaitLater && { msMax: UNITS_MS_MAX, clock, onLate: awaitLater },
    onStep: (step, index, state) =>
      onStep?.({
        kind: progressKind(step),
        subject: stepSubject(step),
        state,
        index,
        total: steps.length,
      }),
  };
}

/** An executed plan. */
interface Done {
  readonly planned: Plan;
  readonly executed: Executed;
  readonly desired: Desired;
}

/** Returns the files and units of the report. */
function changesOf(
  { planned, executed }: Done,
): Pick<Report, "files" | "units" | "restartPending" | "waiting" | "found"> {
  return {
    files: planned.files.filter(({ path, change }) =>
      change !== "removed" || !executed.failed.has(path.split("/").at(-1) ?? "")
    ),
    units: executed.units,
    restartPending: planned.units.restartPending,
    waiting: waitingLines([
      ...planned.units.waiting,
      ...[...planned.units.ifBusy].flatMap(([unit, wait]) => executed.busy.has(unit) ? [wait] : []),
    ]),
    found: planned.found,
  };
}

/** Holds agents without an account. The parts that they share with others are still reconciled. */
function withoutMissing(facts: Facts, missing: ReadonlySet<AgentName>): Facts {
  if (missing.size === 0) return facts;
  return {
    ...facts,
    held: { ...facts.held, agents: [...facts.held?.agents ?? [], ...missing] },
  };
}

function homeOf(
  facts: Facts,
  files: Files,
  homes: Homes,
  owners: Owners,
): (agent: AgentName) => HomeFiles | undefined {
  if (facts.rootless) return () => ownHomeFiles(files);
  return (agent) => {
    const user = owners.users.get(agent);
    return user === undefined ? undefined : homes.of(user, facts.paths.home(agent));
  };
}

/** Returns the unit results that a dry run reports. */
function simulated(planned: Plan): Executed {
  const changes: Partial<Record<Step["kind"], UnitLine["change"]>> = {
    start: "started",
    restart: "restarted",
    replace: "restarted",
    bounce: "bounced",
    stop: "stopped",
  };
  const units = planned.steps.flatMap((step) => {
    const change = changes[step.kind];
    return "unit" in step && change !== undefined ? [{ unit: step.unit, change }] : [];
  });
  return { units, faults: [], failed: new Set(), late: new Set(), busy: new Set() };
}

async function writeRecord(
  files: Files,
  paths: Paths,
  before: RenderRecord,
  done: Done,
): Promise<void> {
  const path = recordPath(paths);
  const clients = await stampWritten(files, { ...done, paths });
  const text = printRecord(finalRecord({ ...done.planned, clients }, done.executed, before));
  const now = await files.readText(path);
  if (text !== now) await files.write(path, text, { mode: 0o600 });
}

function warningsOf(
  desired: Desired,
  seen: {
    readonly isRecordLost: boolean;
    readonly isManagerRunning: boolean;
    readonly isDaemonStale: boolean;
    readonly isRootless: boolean;
  },
): readonly string[] {
  return [
    ...(seen.isRecordLost
      ? ["the record of rendered files was unreadable: files of removed agents may be left"]
      : []),
    ...(seen.isDaemonStale
      ? [
        "the daemon runs with older input until " + (seen.isRootless
          ? '"up" is ended and started again'
          : `it is restarted: systemctl restart ${DAEMON_UNIT}`),
      ]
      : []),
    ...(!seen.isManagerRunning && desired.units.length > 0
      ? ["no service manager is running: files were written, nothing was started"]
      : []),
  ];
}

function fileRefusal(fault: FileFault, facts: Facts): Refusal {
  const path = JSON.stringify(fault.path);
  if (fault.code === "ENOSPC") {
    return refusal("disk-full", `Cannot write ${path}: no space is left on the disk`, {
      hints: [`df -h ${facts.paths.state}`, "fleetctl apply"],
    });
  }
  const isRight = ["EACCES", "EPERM", "EROFS"].includes(fault.code);
  return refusal(
    isRight ? "root-not-writable" : "file-fault",
    `Cannot use ${path}: ${fault.message}`,
    { hints: [`ls -ld ${facts.paths.root}`] },
  );
}
