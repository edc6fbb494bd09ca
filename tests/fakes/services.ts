/**
 * An in-memory service manager over the unit files of a file system. It knows the units whose files
 * existed at the last reload, numbers its processes, and keeps enablement as links. A test can make
 * its n-th change fail.
 *
 * @module
 */

import { eachUnit } from "units/manager/each_unit.ts";
import type { Files } from "core/ports/files.ts";
import { ServiceFault, type ServiceManager } from "units/manager/service_manager.ts";
import type { UnitStatus } from "core/ports/unit.ts";

/** The fake and a record of its changes. */
export interface MemoryServices extends ServiceManager {
  /** Every requested change, oldest first: `start fleetctl-gateway.service`. */
  readonly changes: readonly string[];
  /** Makes the n-th change from now (1 is the next) fail; it then changes nothing. */
  failAt(step: number): void;
  /** Makes each start of a unit fail while `isFailing`. */
  failUnit(unit: string, isFailing: boolean): void;
  /** Makes each start of a unit time out and leave it active, while `isHanging`. */
  hangUnit(unit: string, isHanging: boolean): void;
  /** Makes a unit that hung become ready. */
  wakeUnit(unit: string): void;
  /** Names of the active units, sorted. */
  active(): readonly string[];
  /** Shifts the clock that dates later starts; running units keep their dates. */
  shiftClock(ms: number): void;
  /** Ends all units, as a reboot does. */
  reboot(): void;
}

/** Creates a manager that reads units from `folder` of `files`. */
export function memoryServices(
  files: Files,
  folder: string,
  options: { readonly name?: "systemd" | "embedded"; readonly isRunning?: boolean } = {},
): MemoryServices {
  const changes: string[] = [];
  const failures = new Set<number>();
  const units = new MemoryUnits();
  const { enable, disable } = linksIn(files, folder);

  const change = async (verb: string, unit: string, work: () => void | Promise<void>) => {
    changes.push(unit === "" ? verb : `${verb} ${unit}`);
    if (failures.delete(changes.length)) throw new ServiceFault(unit, `Cannot ${verb}: as told`);
    await work();
  };
  const acts = {
    start: (unit: string) => change("start", unit, () => units.start(unit)),
    stop: (unit: string) => change("stop", unit, () => units.stop(unit)),
    enable: (unit: string) => change("enable", unit, () => enable(unit)),
    disable: (unit: string) => change("disable", unit, () => disable(unit)),
  };

  return {
    name: options.name ?? "systemd",
    changes,
    failAt: (step) => void failures.add(changes.length + step),
    hangUnit: (unit, isHanging) => units.hang(unit, isHanging),
    wakeUnit: (unit) => units.wake(unit),
    isReady: async (unit) => units.isReady(unit),
    failUnit: (unit, isFailing) => units.fail(unit, isFailing),
    active: () => units.active(),
    shiftClock: (ms) => units.shiftClock(ms),
    reboot: () => units.stopAll(),
    isRunning: async () => options.isRunning ?? true,
    reload: () => change("reload", "", async () => units.load(await files.list(folder))),
    start: acts.start,
    stop: acts.stop,
    restart: (unit) =>
      change("restart", unit, () => {
        units.stop(unit);
        units.start(unit);
      }),
    each: (verb, names) => eachUnit(names, (unit) => acts[verb](unit)),
    status: async (names) => names.map((unit) => units.statusOf(unit)),
    journal: async () => [],
  };
}

/** The units in memory: which are loaded, which run, and whose start fails. */
class MemoryUnits {
  readonly #loaded = new Set<string>();
  readonly #running = new Map<string, { readonly pid: number; readonly since: number }>();
  readonly #broken = new Set<string>();
  readonly #hanging = new Set<string>();
  readonly #unready = new Set<string>();
  #pids = 1000;
  #shiftMs = 0;

  load(names: readonly string[]): void {
    this.#loaded.clear();
    for (const name of names) {
      if (/\.(service|socket)$/.test(name)) this.#loaded.add(name);
    }
  }

  start(unit: string): void {
    if (!this.#loaded.has(unit)) {
      throw new ServiceFault(unit, `Cannot find unit ${unit}: not loaded`);
    }
    if (this.#broken.has(unit)) {
      throw new ServiceFault(unit, `Cannot start ${unit}: exit-code 1`, ["oh"]);
    }
    if (!this.#running.has(unit)) {
      const pid = ++this.#pids;
      this.#running.set(unit, { pid, since: pid + this.#shiftMs });
      if (this.#hanging.has(unit)) this.#unready.add(unit);
      else this.#unready.delete(unit);
    }
    if (this.#unready.has(unit)) {
      throw new ServiceFault(unit, `Cannot start ${unit}: not ready`, ["hm"]);
    }
  }

  stop(unit: string): void {
    this.#running.delete(unit);
  }

  stopAll(): void {
    this.#running.clear();
  }

  fail(unit: string, isFailing: boolean): void {
    if (isFailing) this.#broken.add(unit);
    else this.#broken.delete(unit);
  }

  hang(unit: string, isHanging: boolean): void {
    if (isHanging) this.#hanging.add(unit);
    else this.#hanging.delete(unit);
  }

  wake(unit: string): void {
    this.#unready.delete(unit);
  }

  shiftClock(ms: number): void {
    this.#shiftMs += ms;
  }

  isReady(unit: string): boolean {
    return this.#running.has(unit) && !this.#unready.has(unit);
  }

  active(): readonly string[] {
    return [...this.#running.keys()].sort();
  }

  statusOf(unit: string): UnitStatus {
    const run = this.#running.get(unit);
    return {
      unit,
      load: this.#loaded.has(unit) ? "loaded" : "not-found",
      active: run === undefined ? "inactive" : "active",
      mainPid: run?.pid,
      since: run?.since,
      reason: undefined,
      restarts: 0,
    };
  }
}

/** Enables and disables the units of a folder: each has a link in the folder of its target. */
function linksIn(files: Files, folder: string) {
  const wantsOf = async (unit: string) => {
    const text = await files.readText(`${folder}/${unit}`) ?? "";
    return `${folder}/${/^WantedBy=(.+)$/m.exec(text)?.[1] ?? ""}.wants`;
  };
  return {
    enable: async (unit: string) => {
      const wants = await wantsOf(unit);
      await files.ensureDir(wants);
      await files.symlink(`../${unit}`, `${wants}/${unit}`);
    },
    disable: async (unit: string) => await files.remove(`${await wantsOf(unit)}/${unit}`),
  };
}
