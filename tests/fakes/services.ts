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
  const loaded = new Set<string>();
  const running = new Map<string, { readonly pid: number; readonly since: number }>();
  const failures = new Set<number>();
  const broken = new Set<string>();
  const hanging = new Set<string>();
  const unready = new Set<string>();
  let pids = 1000;
  let shiftMs = 0;

  const change = async (verb: string, unit: string, work: () => void | Promise<void>) => {
    changes.push(unit === "" ? verb : `${verb} ${unit}`);
    if (failures.delete(changes.length)) throw new ServiceFault(unit, `Cannot ${verb}: as told`);
    await work();
  };
  const known = (unit: string) => {
    if (!loaded.has(unit)) throw new ServiceFault(unit, `Cannot find unit ${unit}: not loaded`);
  };
  const start = (unit: string) => {
    known(unit);
    if (broken.has(unit)) throw new ServiceFault(unit, `Cannot start ${unit}: exit-code 1`, ["oh"]);
    if (!running.has(unit)) {
      running.set(unit, { pid: ++pids, since: pids + shiftMs });
      if (hanging.has(unit)) unready.add(unit);
      else unready.delete(unit);
    }
    if (unready.has(unit)) throw new ServiceFault(unit, `Cannot start ${unit}: not ready`, ["hm"]);
  };
  const targetOf = async (unit: string) =>
    /^WantedBy=(.+)$/m.exec(await files.readText(`${folder}/${unit}`) ?? "")?.[1] ?? "";

  const acts = {
    start: (unit: string) => change("start", unit, () => start(unit)),
    stop: (unit: string) => change("stop", unit, () => void running.delete(unit)),
    enable: (unit: string) =>
      change("enable", unit, async () => {
        const wants = `${folder}/${await targetOf(unit)}.wants`;
        await files.ensureDir(wants);
        await files.symlink(`../${unit}`, `${wants}/${unit}`);
      }),
    disable: (unit: string) =>
      change("disable", unit, async () => {
        await files.remove(`${folder}/${await targetOf(unit)}.wants/${unit}`);
      }),
  };

  return {
    name: options.name ?? "systemd",
    changes,
    failAt: (step) => void failures.add(changes.length + step),
    hangUnit: (unit, isHanging) => void (isHanging ? hanging.add(unit) : hanging.delete(unit)),
    wakeUnit: (unit) => void unready.delete(unit),
    isReady: async (unit) => running.has(unit) && !unready.has(unit),
    failUnit: (unit, isFailing) => void (isFailing ? broken.add(unit) : broken.delete(unit)),
    active: () => [...running.keys()].sort(),
    shiftClock: (ms) => void (shiftMs += ms),
    reboot: () => running.clear(),
    isRunning: async () => options.isRunning ?? true,
    reload: () =>
      change("reload", "", async () => {
        loaded.clear();
        for (const name of await files.list(folder)) {
          if (/\.(service|socket)$/.test(name)) loaded.add(name);
        }
      }),
    start: acts.start,
    stop: acts.stop,
    restart: (unit) =>
      change("restart", unit, () => {
        running.delete(unit);
        start(unit);
      }),
    each: (verb, units) => eachUnit(units, (unit) => acts[verb](unit)),
    status: async (units) => units.map((unit) => statusOf(unit, loaded, running.get(unit))),
    journal: async () => [],
  };
}

function statusOf(
  unit: string,
  loaded: ReadonlySet<string>,
  run: { readonly pid: number; readonly since: number } | undefined,
): UnitStatus {
  return {
    unit,
    load: loaded.has(unit) ? "loaded" : "not-found",
    active: run === undefined ? "inactive" : "active",
    mainPid: run?.pid,
    since: run?.since,
    reason: undefined,
    restarts: 0,
  };
}
