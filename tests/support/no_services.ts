/**
 * Service managers without processes: one that is not running, so that files are written but
 * nothing starts, and one that starts every unit.
 *
 * @module
 */

import { eachUnit } from "units/manager/each_unit.ts";
import { ServiceFault, type ServiceManager } from "units/manager/service_manager.ts";

/** Returns a manager that is not running. */
export function noServices(): ServiceManager {
  const refuse = async (unit: string): Promise<never> => {
    throw new ServiceFault(unit, "no service manager is running");
  };
  return {
    name: "embedded",
    isRunning: async () => false,
    reload: () => refuse(""),
    start: refuse,
    stop: refuse,
    restart: refuse,
    each: (_verb, units) => eachUnit(units, refuse),
    status: async (units) =>
      units.map((unit) => ({
        unit,
        load: "not-found",
        active: "inactive",
        mainPid: undefined,
        since: undefined,
        reason: undefined,
        restarts: 0,
      })),
    journal: async () => [],
  };
}

/** Returns a manager that marks every started unit active. */
export function startsEverything(): () => ServiceManager {
  const active = new Map<string, number>();
  const note = async (unit: string) => void active.set(unit, Date.now());
  const drop = async (unit: string) => void active.delete(unit);
  const manager: ServiceManager = {
    ...noServices(),
    isRunning: async () => true,
    reload: async () => {},
    start: note,
    restart: note,
    stop: drop,
    each: (verb, units) =>
      eachUnit(units, verb === "start" ? note : verb === "stop" ? drop : async () => {}),
    status: async (units) =>
      units.map((unit) => ({
        unit,
        load: "loaded",
        active: active.has(unit) ? "active" : "inactive",
        mainPid: undefined,
        since: active.get(unit),
        reason: undefined,
        restarts: 0,
      })),
  };
  return () => manager;
}
