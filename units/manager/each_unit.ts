/**
 * Doing the same to many units one after the other, for service managers that have no
 * call for many.
 *
 * @module
 */

import { ServiceFault } from "units/manager/service_manager.ts";

/** Acts on each unit, `width` at a time; returns the fault of each that failed, and goes on. */
export async function eachUnit(
  units: readonly string[],
  act: (unit: string) => Promise<void>,
  width = 1,
): Promise<readonly ServiceFault[]> {
  const faults: ServiceFault[] = [];
  const one = async (unit: string) => {
    try {
      await act(unit);
    } catch (thrown) {
      if (!(thrown instanceof ServiceFault)) throw thrown;
      // A manager may name another unit than the one that was asked for.
      faults.push(
        thrown.unit === unit ? thrown : new ServiceFault(unit, thrown.message, thrown.journal),
      );
    }
  };
  for (let start = 0; start < units.length; start += width) {
    await Promise.all(units.slice(start, start + width).map(one));
  }
  return faults;
}
