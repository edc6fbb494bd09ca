/**
 * A service manager that caches unit states. For verbs that read the same units in several places
 * and change none of them. After a change the cached states would be stale.
 *
 * @module
 */

import type { UnitStatus } from "core/ports/unit.ts";
import type { ServiceManager } from "units/manager/service_manager.ts";

/** Returns the manager with a cache of the unit states that it has already reported. */
export function cachedStatus(services: ServiceManager): ServiceManager {
  const known = new Map<string, UnitStatus>();
  const { listeners } = services;
  let cachedListeners: ReturnType<NonNullable<typeof listeners>> | undefined;
  return {
    ...services,
    ...(listeners === undefined ? {} : { listeners: () => cachedListeners ??= listeners() }),
    status: async (units) => {
      const unknown = [...new Set(units)].filter((unit) => !known.has(unit));
      const statuses = unknown.length === 0 ? [] : await services.status(unknown);
      for (const status of statuses) known.set(status.unit, status);
      return units.flatMap((unit) => known.get(unit) ?? []);
    },
  };
}
