/**
 * The processes of one run of a unit, and how they are ended: signal, wait, kill, wait until none
 * is left. Replaces systemd's control group. Each signal is sent in the event-loop turn in which
 * the process was read, so that a reused pid is never hit.
 *
 * @module
 */

import { type Backoff, backoffMs } from "core/concurrency/backoff.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Kernel } from "units/manager/os/processes/kernel.ts";
import {
  findMembers,
  type ProcessEntry,
  processKey,
  type ProcessName,
  readTable,
} from "core/os/proc.ts";
import { readMemoryBytes, readVariable } from "units/manager/os/processes/process_table.ts";
import { SIGNALS } from "units/manager/units/unit_numbers.ts";

/** Identifies one run of a unit, as in systemd. */
export const INVOCATION_VARIABLE = "INVOCATION_ID";

/** Poll intervals while waiting for processes to end. */
const POLL: Backoff = { firstMs: 5, maxMs: 100 };
const SIGCONT = 18;
/** A process that survives SIGKILL this long is stuck in the kernel and cannot be ended. */
export const KILL_MS_MAX = 10_000;

/** Dependencies of `Members`. */
export interface MemberDeps {
  readonly kernel: Kernel;
  readonly clock: Clock;
}

/** The processes of one run. */
export class Members {
  readonly #deps: MemberDeps;
  readonly #seen = new Set<string>();
  readonly #main: ProcessName;
  /** In the environment of every process of the run, unless a process cleared it. */
  readonly #invocation: string;
  #isMainEnded = false;
  /** Whether the main process's pid is still the id of its group and session. */
  #leads = true;

  constructor(deps: MemberDeps, main: ProcessName, invocation: string) {
    this.#deps = deps;
    this.#main = main;
    this.#invocation = invocation;
    this.#seen.add(processKey(main));
  }

  /** Finds and records the processes that belong to the run now. */
  refresh(table: readonly ProcessEntry[] = readTable(this.#deps.kernel)): readonly ProcessEntry[] {
    const leaders = new Set(this.#leads ? [this.#main.pid] : []);
    const members = findMembers(table, leaders, this.#seen);
    for (const member of members) this.#seen.add(processKey(member));
    if (this.#isMainEnded) this.#leads &&= members.some((it) => it.group === this.#main.pid);
    return members;
  }

  /**
   * Called when the main process has been reaped. Its pid stays the id of its group only while the
   * group has members. A process that lost its parent and left the group since the last check is
   * found by its environment.
   */
  mainEnded(): readonly ProcessEntry[] {
    this.#isMainEnded = true;
    const { kernel } = this.#deps;
    const table = readTable(kernel);
    const members = new Set(this.refresh(table).map((member) => member.pid));
    const start = BigInt(this.#main.start);
    for (const entry of table) {
      if (members.has(entry.pid) || BigInt(entry.start) < start) continue;
      if (readVariable(kernel, entry.pid, INVOCATION_VARIABLE) === this.#invocation) {
        this.#seen.add(processKey(entry));
      }
    }
    return this.refresh();
  }

  /**
   * Signals every member, or one of them. Stopped processes are continued, so that they handle the
   * signal.
   */
  signal(name: string, only?: number): void {
    const members = this.refresh().filter((member) => only === undefined || member.pid === only);
    const number = SIGNALS[name.slice("SIG".length)];
    if (number === undefined) throw new RangeError(`Cannot send ${name}: not a known signal`);
    const send = only === undefined ? signalAll : signalEach;
    send(this.#deps.kernel, members, number);
    send(this.#deps.kernel, members, SIGCONT);
  }

  /** Returns the memory of all members in bytes. */
  memoryBytes(table: readonly ProcessEntry[]): number {
    return this.refresh(table)
      .reduce((sum, member) => sum + readMemoryBytes(this.#deps.kernel, member.pid), 0);
  }

  /** Resolves when all members are gone or `ms` have passed, with the members that are left. */
  waitGone(ms: number, signal?: AbortSignal): Promise<readonly ProcessEntry[]> {
    return waitUntilNone(this.#deps.clock, () => this.refresh(), { ms, signal });
  }

  /** Kills every member, and any process that they start meanwhile; returns the survivors. */
  killAll(): Promise<readonly ProcessEntry[]> {
    return waitUntilNone(this.#deps.clock, () => {
      const members = this.refresh();
      signalAll(this.#deps.kernel, members, SIGNALS.KILL as number);
      return members;
    }, { ms: KILL_MS_MAX, signal: undefined });
  }
}

/**
 * Signals groups that consist only of members as a group, so that no fork escapes; then the rest.
 */
export function signalAll(
  kernel: Kernel,
  members: readonly ProcessEntry[],
  signal: number,
): void {
  const leaders = new Set(
    members.filter((member) => member.pid === member.group).map((member) => member.pid),
  );
  for (const leader of leaders) kernel.kill(-leader, signal);
  for (const member of members) if (!leaders.has(member.group)) kernel.kill(member.pid, signal);
}

function signalEach(kernel: Kernel, members: readonly ProcessEntry[], signal: number): void {
  for (const member of members) kernel.kill(member.pid, signal);
}

/** Calls `look` repeatedly until it returns no process. */
export async function waitUntilNone(
  clock: Clock,
  poll: () => readonly ProcessEntry[],
  until: { readonly ms: number; readonly signal: AbortSignal | undefined },
): Promise<readonly ProcessEntry[]> {
  const end = clock.monotonic() + until.ms;
  for (let polls = 0;; polls++) {
    const left = poll();
    const ms = Math.min(backoffMs(POLL, polls), end - clock.monotonic());
    if (left.length === 0 || ms <= 0 || until.signal?.aborted === true) return left;
    await clock.sleep(ms, until.signal);
  }
}
