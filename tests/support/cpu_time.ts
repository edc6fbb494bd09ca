/**
 * Processor time of a piece of work. Unlike wall-clock time, it does not grow while other programs
 * run, so a limit on it is reliable on a busy machine.
 *
 * @module
 */

import process from "node:process";

/** Returns the milliseconds of processor time that this process uses while `work` runs. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
