/**
 * The time that a piece of work takes of a processor. Unlike a clock it stands still while other
 * programs run, so that a bound on it holds on a busy machine.
 *
 * @module
 */

import process from "node:process";

/** Milliseconds that this process spends while `work` runs. */
export function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
