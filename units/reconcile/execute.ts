/**
 * Executes steps through ports. A step that fails on a unit or in one agent's home is a fault of
 * that unit or agent, and the rest continues. A file that cannot be written for lack of space or
 * right stops everything with one refusal. Completed steps remain, and the next run continues from
 * there.
 *
 * @module
 */

import { mendDatabase } from "units/reconcile/damaged_database.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { quoteShell } from "core/text/quote.ts";
import type { Clock } from "core/ports/clock.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import { ServiceFault, type ServiceManager } from "units/manager/service_manager.ts";
import { err, ok, type Result } from "core/result.ts";
import type { HomeFiles } from "units/reconcile/home_files.ts";
import { printRecord, recordPath } from "units/reconcile/record.ts";
import type { DialUnits } from "units/reconcile/ports.ts";
import type { UnitLine } from "units/reconcile/report.ts";
import { type Batch, batchesOf, type IndexedStep } from "units/reconcile/batches.ts";
import { type Step, stepSubject, type UnitStep } from "units/reconcile/step.ts";

/** Dependencies of the execution. */
export interface ExecutePorts {
  readonly files: Files;
  readonly services: ServiceManager;
  readonly dials: DialUnits;
  homeOf(agent: AgentName): HomeFiles | undefined;
}

/** Executed and failed steps. */
export interface Executed {
  readonly units: readonly UnitLine[];
  readonly faults: readonly Refusal[];
  /** Units and client configs whose step failed; they keep their previous record. */
  readonly failed: ReadonlySet<string>;
  /** Units whose step had not finished when the run continued. */
  readonly late: ReadonlySet<string>;
  /** Units that were not replaced because their agent has a turn. */
  readonly busy: ReadonlySet<string>;
}

/** Receives work in progress; the promise resolves with its refusal, if any, and never rejects. */
export type OnLate = (work: Promise<Refusal | undefined>) => void;

/** How long a run waits for units. A caller that must release a lock soon awaits the rest later. */
export interface UnitPatience {
  /** For all steps together. */
  readonly msMax: number;
  readonly clock: Pick<Clock, "after" | "monotonic">;
  readonly onLate: OnLate;
}

const UNIT_CHANGES = {
  start: "started",
  restart: "restarted",
  replace: "restarted",
  bounce: "bounced",
  stop: "stopped",
} as const;

/** What the steps are executed for, and who follows them. */
interface ExecuteContext {
  readonly paths: Paths;
  readonly onStep: (step: Step, index: number, state: "begin" | "done" | "failed") => void;
  /** Without it, the run waits for every step. */
  readonly patience?: UnitPatience | undefined;
}

/** Executes the steps in order. */
export async function execute(
  steps: readonly Step[],
  ports: ExecutePorts,
  context: ExecuteContext,
): Promise<Result<Executed>> {
  return await new Execution(ports, context).run(batchesOf(steps));
}

class Execution {
  readonly #ports: ExecutePorts;
  readonly #context: ExecuteContext;
  readonly #isInTime: (work: Promise<void>) => Promise<boolean>;
  readonly #units: UnitLine[] = [];
  readonly #faults: Refusal[] = [];
  readonly #failed = new Set<string>();
  readonly #late = new Set<string>();
  readonly #busy = new Set<string>();

  constructor(ports: ExecutePorts, context: ExecuteContext) {
    this.#ports = ports;
    this.#context = context;
    this.#isInTime = waitFor(context.patience);
  }

  async run(batches: readonly Batch[]): Promise<Result<Executed>> {
    for (const batch of batches) {
      if (batch.how === "combined") {
        await this.#runCombined(batch);
        continue;
      }
      const stopped = await Promise.all(batch.steps.map((step) => this.#runOne(step)));
      const refused = stopped.find((each) => each !== undefined);
      if (refused !== undefined) return err(refused);
    }
    return ok({
      units: this.#units,
      faults: this.#faults,
      failed: this.#failed,
      late: this.#late,
      busy: this.#busy,
    });
  }

  async #runOne([step, index]: IndexedStep): Promise<Refusal | undefined> {
    if (this.#isOff(step)) return undefined;
    const { onStep, paths } = this.#context;
    onStep(step, index, "begin");
    try {
      if (step.kind === "replace" && !await this.#mayReplace(step)) {
        onStep(step, index, "done");
        return undefined;
      }
      const work = act(step, this.#ports, paths);
      if (!("unit" in step)) await work;
      else if (!await this.#isInTime(work)) this.#finishLater(step, work);
      this.#note(step);
      onStep(step, index, "done");
      return undefined;
    } catch (thrown) {
      onStep(step, index, "failed");
      if (!isOfOne(step, thrown)) return stopsAll(step, thrown, paths);
      this.#fail(step, thrown as ServiceFault | FileFault);
      return undefined;
    }
  }

  async #mayReplace(step: Step & { readonly kind: "replace" }): Promise<boolean> {
    const { agent, isDue, unit } = step;
    // A socket is replaced within seconds, and its dial unit may stay.
    const isBrief = unit.endsWith(".socket");
    if (await this.#ports.dials.isIdle(agent, { isDue, isBrief }) || isDue) return true;
    this.#busy.add(unit);
    return false;
  }

  async #runCombined(batch: Batch & { readonly how: "combined" }): Promise<void> {
    const { onStep } = this.#context;
    const todo = batch.steps.filter(([step]) => !this.#isOff(step));
    for (const [step, index] of todo) onStep(step, index, "begin");
    const bad = new Map<string, ServiceFault>();
    const work = (async () => {
      for (const verb of batch.verbs) {
        const left = todo.map(([step]) => step.unit).filter((unit) => !bad.has(unit));
        for (const fault of await this.#ports.services.each(verb, left)) bad.set(fault.unit, fault);
      }
    })();
    const isOver = await this.#isInTime(work);
    for (const [step, index] of todo) {
      const fault = isOver ? bad.get(step.unit) : undefined;
      if (!isOver) this.#finishLater(step, work.then(() => bad.get(step.unit)));
      if (fault === undefined) this.#note(step);
      else this.#fail(step, fault);
      onStep(step, index, fault === undefined ? "done" : "failed");
    }
  }

  /** A unit that could not be enabled is not started; one that could not be stopped, not removed. */
  #isOff(step: Step): boolean {
    const subject = "unit" in step ? step.unit : stepSubject(step).split("/").at(-1) ?? "";
    return this.#failed.has(subject);
  }

  #note(step: Step): void {
    if (!("unit" in step) || !(step.kind in UNIT_CHANGES)) return;
    const isBounce = step.kind === "replace" && step.unit.endsWith(".socket");
    const kind = isBounce ? "bounce" : step.kind;
    const change = UNIT_CHANGES[kind as keyof typeof UNIT_CHANGES];
    this.#units.push({ unit: step.unit, change });
  }

  #fail(step: Step, fault: ServiceFault | FileFault): void {
    this.#failed.add(stepSubject(step));
    const { services } = this.#ports;
    this.#faults.push(faultOfOne(step, fault, { services, paths: this.#context.paths }));
  }

  #finishLater(step: UnitStep, work: Promise<ServiceFault | undefined | void>): void {
    this.#late.add(step.unit);
    const { patience, paths } = this.#context;
    patience?.onLate(outcomeOf(step, work, this.#ports.services, paths));
  }
}

/** Returns a function that resolves with whether a step finished within the remaining patience. */
function waitFor(patience: UnitPatience | undefined): (work: Promise<void>) => Promise<boolean> {
  let leftMs = patience?.msMax ?? 0;
  return async (work) => {
    if (patience === undefined) return await work.then(() => true);
    const { clock } = patience;
    const began = clock.monotonic();
    const over = Promise.withResolvers<boolean>();
    const cancel = clock.after(leftMs, () => over.resolve(false));
    try {
      return await Promise.race([work.then(() => true), over.promise]);
    } finally {
      cancel();
      leftMs = Math.max(0, leftMs - (clock.monotonic() - began));
    }
  };
}

/** Returns the outcome of a step that the run did not wait for. */
async function outcomeOf(
  step: Step,
  work: Promise<ServiceFault | undefined | void>,
  services: ServiceManager,
  paths: Paths,
): Promise<Refusal | undefined> {
  try {
    const fault = await work;
    return fault instanceof ServiceFault ? faultOfOne(step, fault, { services, paths }) : undefined;
  } catch (thrown) {
    return isOfOne(step, thrown)
      ? faultOfOne(step, thrown, { services, paths })
      : stopsAll(step, thrown, paths);
  }
}

async function act(step: Step, ports: ExecutePorts, paths: Paths): Promise<void> {
  const { files, services } = ports;
  switch (step.kind) {
    case "record":
      return await files.write(recordPath(paths), printRecord(step.record), { mode: 0o600 });
    case "folder": {
      const home = step.home === undefined ? undefined : ports.homeOf(step.home);
      return home === undefined
        ? await files.ensureDir(step.path, { mode: step.mode, ...step.owner })
        : await home.ensureFolder(step.path, step.mode);
    }
    case "write":
      return await files.write(step.path, step.text, { mode: step.mode, ...step.owner });
    case "client": {
      const home = ports.homeOf(step.agent);
      if (home === undefined) throw new FileFault("ENOENT", step.path, "the account is gone");
      return await home.write(step.path, step.text, step.mode);
    }
    case "remove":
      return await files.remove(step.path);
    case "reload":
      return await services.reload();
    case "start":
    case "restart":
      return await services[step.kind](step.unit);
    case "replace":
      return step.unit.endsWith(".socket")
        ? await bounce(step.unit, services)
        : await services.restart(step.unit);
    default:
      throw new Error(`"${step.kind}" is done for many units at once`);
  }
}

/** Ends the servers of a socket, too (`PartOf=`). */
async function bounce(unit: string, services: ServiceManager): Promise<void> {
  for (const verb of ["stop", "start"] as const) {
    const [fault] = await services.each(verb, [unit]);
    if (fault !== undefined) throw fault;
  }
}

/** Whether a failure affects only one unit or one home. */
function isOfOne(step: Step, thrown: unknown): boolean {
  if (thrown instanceof ServiceFault) return "unit" in step;
  const isHome = step.kind === "client" || (step.kind === "folder" && step.home !== undefined);
  // A home may have its own quota or disk: if it is full, other agents are not affected.
  return thrown instanceof FileFault && isHome;
}

function faultOfOne(
  step: Step,
  thrown: unknown,
  { services, paths }: { readonly services: ServiceManager; readonly paths: Paths },
): Refusal {
  if (!(thrown instanceof ServiceFault)) {
    const subject = JSON.stringify(stepSubject(step));
    return refusal("home-not-writable", `Cannot write ${subject}: ${errorText(thrown)}`, {
      hints: [...folderHints(step, paths), "fleetctl apply"],
    });
  }
  const unit = (step as UnitStep).unit;
  const start = services.name === "systemd" ? `systemctl restart ${unit}` : "fleetctl apply";
  const mending = mendDatabase(thrown.journal, { unit, paths, start });
  return refusal("unit-failed", thrown.message.replace(/\.$/, ""), {
    details: [...thrown.journal, ...mending?.details ?? []],
    hints: mending?.hints ??
      [services.name === "systemd" ? `journalctl -u ${unit} -n 50` : "fleetctl status"],
  });
}

/** The operator must create a workspace outside the home if the agent cannot. */
function folderHints(step: Step, paths: Paths): readonly string[] {
  if (step.kind !== "folder" || step.home === undefined) return [];
  if (step.path.startsWith(`${paths.home(step.home)}/`)) return [];
  const owner = `-o ${step.home} -g ${step.home} -m 0${step.mode.toString(8)}`;
  return [`install -d ${owner} ${quoteShell(step.path)}`];
}

function stopsAll(step: Step, thrown: unknown, paths: Paths): Refusal {
  if (thrown instanceof ServiceFault) {
    return refusal("manager-failed", thrown.message, { hints: ["fleetctl apply"] });
  }
  if (!(thrown instanceof FileFault)) throw thrown;
  const verb = step.kind === "remove" ? "remove" : "write";
  const subject = `Cannot ${verb} ${JSON.stringify(thrown.path)}`;
  if (thrown.code === "ENOSPC") {
    return refusal("disk-full", `${subject}: no space is left on the disk`, {
      details: ["Completed writes remain; the next run continues."],
      hints: [`df -h ${paths.state}`, "fleetctl apply"],
    });
  }
  if (["EACCES", "EPERM", "EROFS"].includes(thrown.code)) {
    const state = thrown.code === "EROFS" ? "the file system is read-only" : "permission denied";
    return refusal("root-not-writable", `${subject}: ${state}, must be writable`, {
      hints: [`ls -ld ${paths.root}`],
    });
  }
  return refusal("file-fault", `${subject}: ${thrown.message}`, { hints: ["fleetctl apply"] });
}
