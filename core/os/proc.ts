/**
 * Which processes are alive and which belong together, from `/proc/<pid>/stat`. A process is
 * identified by its pid *and* its start time, so that a reused pid is never mistaken for the old
 * process. Reads through the C library, because Deno requires --allow-all for `/proc`.
 *
 * @module
 */

import type { Libc } from "core/os/libc.ts";

/** Reads `/proc`. */
export interface ProcReader {
  /** Returns the text of a small file under `/proc`, or undefined when it cannot be read. */
  readProc(path: string): string | undefined;
  /** Returns the numeric names in `/proc`. */
  listPids(): readonly number[];
}

/** One process, with the fields that callers need. */
export interface ProcessEntry {
  readonly pid: number;
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Clock ticks between boot and start; identifies a process with its pid until the next boot. */
  readonly start: string;
}

const O_CLOEXEC = 0o2000000;
const O_DIRECTORY = 0o200000;
/** `environ` and `stat` are read whole; a larger environment is truncated. */
const PROC_BYTES_MAX = 256 * 1024;
const DIRECTORY_BYTES = 32 * 1024;
/** Offset of `d_reclen` and `d_name` in `struct linux_dirent64`. */
const RECLEN_AT = 16;
const NAME_AT = 19;

/** Creates the reader; `libc` stays open as long as it is used. */
export function createProcReader({ symbols: libc }: Libc): ProcReader {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const text = new Uint8Array(PROC_BYTES_MAX);
  const names = new Uint8Array(DIRECTORY_BYTES);
  return {
    readProc(path) {
      const descriptor = libc.open(encoder.encode(`${path}\0`), O_CLOEXEC);
      if (descriptor < 0) return undefined;
      let length = 0;
      while (length < text.length) {
        const part = text.subarray(length);
        const count = Number(libc.read(descriptor, part, BigInt(part.length)));
        if (count <= 0) break;
        length += count;
      }
      libc.close(descriptor);
      return length === 0 ? undefined : decoder.decode(text.slice(0, length));
    },
    listPids() {
      const descriptor = libc.open(encoder.encode("/proc\0"), O_CLOEXEC | O_DIRECTORY);
      if (descriptor < 0) return [];
      const pids: number[] = [];
      while (true) {
        const count = Number(libc.getdents64(descriptor, names, BigInt(names.length)));
        if (count <= 0) break;
        collectPids(names.subarray(0, count), pids);
      }
      libc.close(descriptor);
      return pids;
    },
  };
}

function collectPids(entries: Uint8Array, pids: number[]): void {
  const view = new DataView(entries.buffer, entries.byteOffset, entries.byteLength);
  for (let at = 0; at < entries.length; at += view.getUint16(at + RECLEN_AT, true)) {
    let pid = 0;
    let index = at + NAME_AT;
    for (; entries[index] !== 0; index++) {
      const digit = (entries[index] ?? 0) - 0x30;
      if (digit < 0 || digit > 9) {
        pid = 0;
        break;
      }
      pid = pid * 10 + digit;
    }
    if (pid > 0) pids.push(pid);
  }
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
export function readProcess(proc: ProcReader, pid: number): ProcessEntry | undefined {
  const text = proc.readProc(`/proc/${pid}/stat`);
  const entry = text === undefined ? undefined : parseStat(text);
  return entry !== undefined && isAlive(entry) ? entry : undefined;
}

/** Returns every live process that this user may see. */
export function readTable(proc: ProcReader): readonly ProcessEntry[] {
  const table: ProcessEntry[] = [];
  for (const pid of proc.listPids()) {
    const entry = readProcess(proc, pid);
    if (entry !== undefined) table.push(entry);
  }
  return table;
}

function isAlive(entry: ProcessEntry): boolean {
  return entry.state !== "Z" && entry.state !== "X";
}

/** Identity of a process that a program started. */
export interface ProcessName {
  readonly pid: number;
  readonly start: string;
}

/** Returns the map key of a process. */
export function processKey(process: ProcessName): string {
  return `${process.pid}:${process.start}`;
}

/**
 * Returns the processes that belong together:
 *
 * - processes in a group or session whose leader's pid is in `leaders`
 * - earlier members, whose keys (`processKey`) are in `seen`
 * - descendants of all of these
 *
 * Membership replaces the control group, which an ordinary user does not have. A process that
 * leaves its parent, group and session between two checks is lost.
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
