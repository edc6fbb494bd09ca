/**
 * The running boot, and the memory and environment of a process, from `/proc`. This module only
 * reads; it sends no signals.
 *
 * @module
 */

import type { Kernel } from "units/manager/os/processes/kernel.ts";

/** Returns the id of the running boot. */
export function readBootId(kernel: Kernel): string {
  return kernel.readProc("/proc/sys/kernel/random/boot_id")?.trim() ?? "unknown";
}

/** Returns the unshared memory of a process in bytes: what its end would free. */
export function readMemoryBytes(kernel: Kernel, pid: number): number {
  const [, resident, shared] = (kernel.readProc(`/proc/${pid}/statm`) ?? "").split(" ").map(Number);
  return Math.max(0, ((resident ?? 0) - (shared ?? 0)) * PAGE_BYTES);
}

/** Page size of every platform that fleetctl is built for. */
const PAGE_BYTES = 4096;

/** Returns a variable of a process's initial environment, or undefined. */
export function readVariable(kernel: Kernel, pid: number, name: string): string | undefined {
  const environment = kernel.readProc(`/proc/${pid}/environ`) ?? "";
  const entry = environment.split("\0").find((line) => line.startsWith(`${name}=`));
  return entry?.slice(name.length + 1);
}
