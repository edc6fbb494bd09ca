/**
 * Which processes are alive and which unit they belong to, from `/proc/<pid>/stat`. A process is
 * identified by its pid *and* its start time, so that a reused pid is never mistaken for the old
 * process. This module only reads; it sends no signals.
 *
 * Membership replaces the control group, which an ordinary user does not have. A member of a unit
 * is in the unit's group or session, is a descendant of a member, or was a member before. A process
 * that leaves its parent, group and session between two checks is lost.
 *
 * @module
 */

import type { Kernel } from "units/manager/os/processes/kernel.ts";

/** One process, with the fields that the manager needs. */
export interface ProcessEntry {
  readonly pid: number;
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Clock ticks between boot and start; identifies a process with its pid until the next boot. */
  readonly start: string;
}

/** Identity of a process that the manager started. */
export interface ProcessName {
  readonly pid: number;
  readonly start: string;
}

/** Returns the map key of a process. */
export function processKey(process: ProcessName): string {
  return `${process.pid}:${process.start}`;
}

/** Parses one line of `/proc/<pid>/stat`; the program's name may contain spaces and brackets. */
export function parseStat(text: string): ProcessEntry | undefined {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  const pid = Number(text.slice(0, open).trim());
  const fields = text.slice(close + 1).trim().split(" ");
  const [state, parent, group, session] = fields;
  const start = fields[19];
  if (open < 1 || close < open || !Number.isInteger(pid) || state === undefined) return undefined;
  if (start === undefined || !/^\d+$/.test(start)) return undefined;
  return {
    pid,
    state,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    start,
  };
}

/** Returns one live process, or undefined when it is gone or a zombie. */
export function readProcess(kernel: Kernel, pid: number): ProcessEntry | undefined {
  const text = kernel.readProc(`/proc/${pid}/stat`);
  const entry = text === undefined ? undefined : parseStat(text);
  return entry !== undefined && isAlive(entry) ? entry : undefined;
}

/** Returns every live process that this user may see. */
export function readTable(kernel: Kernel): readonly ProcessEntry[] {
  const table: ProcessEntry[] = [];
  for (const pid of kernel.listPids()) {
    const entry = readProcess(kernel, pid);
    if (entry !== undefined) table.push(entry);
  }
  return table;
}

function isAlive(entry: ProcessEntry): boolean {
  return entry.state !== "Z" && entry.state !== "X";
}

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

/**
 * Returns the members of a unit:
 *
 * - the roots
 * - processes in the group or session of a root, while `leads` states that the id is still theirs
 * - earlier members
 * - descendants of all of these
 */
export function findMembers(
  table: readonly ProcessEntry[],
  leaders: ReadonlySet<number>,
  seen: ReadonlySet<string>,
): readonly ProcessEntry[] {
  const members = new Map<number, ProcessEntry>();
  const children = new Map<number, ProcessEntry[]>();
  const waiting: ProcessEntry[] = [];
  for (const entry of table) {
    const siblings = children.get(entry.parent);
    if (siblings === undefined) children.set(entry.parent, [entry]);
    else siblings.push(entry);
    if (leaders.has(entry.group) || leaders.has(entry.session) || seen.has(processKey(entry))) {
      waiting.push(entry);
    }
  }
  for (let entry = waiting.pop(); entry !== undefined; entry = waiting.pop()) {
    if (members.has(entry.pid)) continue;
    members.set(entry.pid, entry);
    waiting.push(...(children.get(entry.pid) ?? []));
  }
  return [...members.values()];
}
