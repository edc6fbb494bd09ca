/**
 * Starts, stops and monitors the units of one root: their order, their dependencies, and what
 * follows when one ends without a stop request. Single units are in `units/manager/os/runs/`.
 *
 * @module
 */

import type { Files } from "core/ports/files.ts";
import { ServiceFault } from "units/manager/service_manager.ts";
import type { StartOutcome, UnitEvent } from "units/manager/embedded.ts";
import type { Paths } from "core/paths.ts";
import { planStart, planStop, planStopOrder, runInOrder } from "units/manager/order.ts";
import type { AttemptDeps } from "units/manager/os/runs/attempt.ts";
import { ServiceRun } from "units/manager/os/runs/service_run.ts";
import { SocketRun } from "units/manager/os/runs/socket_run.ts";
import { openUnitLog, type UnitLog } from "units/manager/os/runs/unit_log.ts";
import type { UnitStore } from "units/manager/os/unit_store.ts";
import { isUnitName } from "units/manager/os/unit_store.ts";
import type { ServiceSpec } from "units/manager/units/service_spec.ts";
import {
  type Relations,
  splitUnitName,
  type UnitBase,
  type UnitSpec,
} from "units/manager/units/unit_spec.ts";
import type { UnitStatus } from "core/ports/unit.ts";

/** Dependencies of the supervisor. */
export interface SupervisorDeps extends AttemptDeps {
  readonly paths: Paths;
  readonly files: Files;
  readonly store: UnitStore;
  readonly bindPath: string;
  readonly onEvent: (event: UnitEvent) => void;
  readonly onLogFault: (unit: string, thrown: unknown) => void;
}

type Run = ServiceRun | SocketRun;

/** The units of one root. */
export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #runs = new Map<string, Run>();
  readonly #logs = new Map<string, UnitLog>();
  #isClosing = false;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
  }

  /** Applies the result of a reload; running units keep the settings they were started with. */
  adopt(): void {
    for (const [unit, run] of this.#runs) {
      const spec = this.#deps.store.find(unit);
      if (run instanceof ServiceRun && spec?.kind === "service") run.spec = spec;
      if (run instanceof SocketRun && spec?.kind === "socket") run.spec = spec;
    }
  }

  /** Resolves when the unit is active; rejects with `ServiceFault`. */
  async start(unit: string): Promise<void> {
    this.#deps.store.require(unit);
    await this.#startAll([unit]).get(unit);
  }

  /** Starts several units together; a fault of one does not affect the others. */
  async startEach(units: readonly string[]): Promise<readonly StartOutcome[]> {
    const jobs = this.#startAll(units);
    return await Promise.all(units.map(async (unit): Promise<StartOutcome> => {
      try {
        await jobs.get(unit);
        return { unit, fault: undefined };
      } catch (thrown) {
        return { unit, fault: thrown instanceof Error ? thrown : new Error(String(thrown)) };
      }
    }));
  }

  /** Resolves when the unit and all that depends on it have ended. */
  async stop(unit: string): Promise<void> {
    const steps = planStop([unit], this.#runs.keys(), (name) => this.#relationsOf(name));
    await this.#stopSteps(steps);
  }

  /** Stops a unit and its dependents, then starts the unit and the dependents that were running. */
  async restart(unit: string): Promise<void> {
    this.#deps.store.require(unit);
    const steps = planStop([unit], this.#runs.keys(), (name) => this.#relationsOf(name));
    const again = steps.map((step) => step.unit).filter((name) => this.#isUp(name));
    await this.#stopSteps(steps);
    const jobs = this.#startAll([unit, ...again.filter((name) => name !== unit)]);
    await jobs.get(unit);
    await Promise.allSettled(jobs.values());
  }

  /** Stops everything in reverse order; later starts are refused. */
  async stopAll(): Promise<void> {
    this.#isClosing = true;
    await this.#stopSteps(planStopOrder([...this.#runs.keys()], (name) => this.#relationsOf(name)));
  }

  /** Kills every process of every unit now. */
  killAll(): void {
    this.#isClosing = true;
    for (const run of this.#runs.values()) run.kill();
  }

  closeLogs(): void {
    for (const log of this.#logs.values()) log.close();
    this.#logs.clear();
  }

  /**
   * Returns the status of the named units, or of all units and socket instances when none is named.
   */
  status(units: readonly string[]): readonly UnitStatus[] {
    const instances = [...this.#runs.values()].flatMap((run) =>
      run instanceof SocketRun ? run.instances() : []
    );
    if (units.length > 0) return units.map((unit) => this.#statusOf(unit, instances));
    const names = new Set([
      ...this.#deps.store.names(),
      ...this.#deps.store.faults().map((fault) => fault.unit),
      ...this.#runs.keys(),
    ]);
    return [...[...names].sort().map((unit) => this.#statusOf(unit, [])), ...instances];
  }

  /** Returns the last lines of a unit's log; an instance's lines are in the log of its template. */
  journal(unit: string, lines: number): readonly string[] {
    if (!isUnitName(unit)) {
      throw new ServiceFault(
        unit,
        `Cannot read the journal of ${JSON.stringify(unit)}: not a unit`,
      );
    }
    const { prefix, instance, suffix } = splitUnitName(unit);
    const own = this.#logOf(unit).tail(lines);
    if (own.length > 0 || instance === undefined || instance === "") return own;
    const mark = `[${instance}] `;
    return this.#logOf(`${prefix}@${suffix}`).tail(Infinity)
      .filter((line) => line.startsWith(mark)).slice(-lines);
  }

  #statusOf(unit: string, instances: readonly UnitStatus[]): UnitStatus {
    const known = this.#runs.get(unit)?.status() ?? instances.find((one) => one.unit === unit);
    if (known !== undefined) return known;
    const spec = this.#deps.store.find(unit);
    const faults = this.#deps.store.faultsOf(unit);
    const isFaulty = spec === undefined && faults.length > 0;
    return {
      unit,
      load: spec === undefined && !isFaulty ? "not-found" : "loaded",
      active: isFaulty ? "failed" : "inactive",
      mainPid: undefined,
      since: undefined,
      reason: isFaulty ? `refused ${faults[0]}` : undefined,
      restarts: 0,
    };
  }

  #startAll(units: readonly string[]): ReadonlyMap<string, Promise<void>> {
    const plan = planStart(units, (name) => this.#deps.store.find(name)?.relations);
    const steps = new Map(plan.steps.map((step) => [step.unit, step] as const));
    return runInOrder(plan.steps, async (unit, jobs) => {
      const missing = plan.missing.find((gap) => gap.unit === unit);
      if (missing !== undefined) throw this.#dependencyFault(unit, missing.needs);
      const step = steps.get(unit);
      for (const needs of step?.needs ?? []) {
        const isOk = await jobs.get(needs)?.then(() => true, () => false);
        if (isOk !== true) throw this.#dependencyFault(unit, needs);
      }
      for (const needs of step?.alongside ?? []) {
        jobs.get(needs)?.catch(() => {
          this.#dependencyFault(unit, needs);
          void this.stop(unit);
        });
      }
      await this.#startOne(unit);
    });
  }

  #dependencyFault(unit: string, needs: string): ServiceFault {
    const reason = `dependency ${JSON.stringify(needs)} is not running`;
    this.#deps.onEvent({ kind: "failed", unit, reason });
    return new ServiceFault(unit, `Cannot start unit ${JSON.stringify(unit)}: ${reason}`);
  }

  async #startOne(unit: string): Promise<void> {
    if (this.#isClosing) {
      throw new ServiceFault(
        unit,
        `Cannot start unit ${JSON.stringify(unit)}: the manager is stopping`,
      );
    }
    const spec = this.#deps.store.require(unit);
    for (const condition of spec.conditionPaths) {
      const wantsAbsence = condition.startsWith("!");
      const stat = await this.#deps.files.stat(condition.replace(/^!/, ""));
      if ((stat === undefined) === wantsAbsence) continue;
      this.#deps.onEvent({ kind: "exited", unit, reason: `condition ${condition} is not met` });
      return;
    }
    await this.#runOf(spec)?.start();
  }

  async #stopSteps(steps: ReturnType<typeof planStopOrder>): Promise<void> {
    const jobs = runInOrder(steps, async (unit) => await this.#runs.get(unit)?.stop());
    await Promise.all(jobs.values());
  }

  #runOf(spec: UnitSpec): Run | undefined {
    const known = this.#runs.get(spec.unit);
    if (known !== undefined || spec.kind === "target") return known;
    const run = spec.kind === "socket" ? this.#createSocket(spec) : this.#createService(spec);
    this.#runs.set(spec.unit, run);
    return run;
  }

  #createSocket(spec: Extract<UnitSpec, { kind: "socket" }>): SocketRun {
    return new SocketRun(spec, {
      ...this.#deps,
      instanceSpec: (unit) => this.#instanceSpec(unit),
      logOf: (unit) => this.#logOf(unit),
    });
  }

  #createService(spec: Extract<UnitSpec, { kind: "service" }>): ServiceRun {
    if (spec.input === "socket") {
      throw new ServiceFault(
        spec.unit,
        `Cannot start unit ${JSON.stringify(spec.unit)}: StandardInput=socket without a connection`,
      );
    }
    return new ServiceRun(spec, {
      ...this.#deps,
      log: this.#logOf(spec.unit),
      onEnded: () => this.#stopBoundUnits(spec.unit),
    });
  }

  /** Stops the units that are bound to a unit that has ended without a stop request. */
  #stopBoundUnits(unit: string): void {
    for (const [other, run] of this.#runs) {
      if (!run.spec.relations.bindsTo.includes(unit) || !this.#isUp(other)) continue;
      void this.stop(other);
    }
  }

  #instanceSpec(unit: string): UnitBase & ServiceSpec {
    const spec = this.#deps.store.require(unit);
    if (spec.kind === "service" && spec.input === "socket") return spec;
    throw new Error(`the template of ${JSON.stringify(unit)} must have StandardInput=socket`);
  }

  #isUp(unit: string): boolean {
    const active = this.#runs.get(unit)?.status().active;
    return active === "active" || active === "activating";
  }

  #relationsOf(unit: string): Relations | undefined {
    return this.#runs.get(unit)?.spec.relations ?? this.#deps.store.find(unit)?.relations;
  }

  #logOf(unit: string): UnitLog {
    const known = this.#logs.get(unit);
    if (known !== undefined) return known;
    const log = openUnitLog(
      `${this.#deps.paths.logs}/${unit}.log`,
      (thrown) => this.#deps.onLogFault(unit, thrown),
    );
    this.#logs.set(unit, log);
    return log;
  }
}
