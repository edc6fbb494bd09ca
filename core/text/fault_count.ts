/** The number of faults in a message. Pure. @module */

/** Returns `1 fault`, `2 faults` and so on. */
export function faultCount(faults: readonly string[]): string {
  return faults.length === 1 ? "1 fault" : `${faults.length} faults`;
}
