/**
 * Runs one action on many units, for service managers without a call that accepts several.
 *
 * @module
 */

import { ServiceFault } from "units/manager/service_manager.ts";

/** Acts on each unit, `width` at a time; continues after a failure and returns every fault. */
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
      // A manager's fault may name a unit other than the requested one.
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
