/**
 * The processes of one run of a unit, and ending them for certain: signal, wait, kill, wait until
 * none is left. Stands in for the control group of systemd. Each signal goes to a process that
 * was looked at in the same turn, so that a pid of someone else is never hit.
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
  readMemoryBytes,
  readTable,
  readVariable,
} from "units/manager/os/processes/process_table.ts";
import { SIGNALS } from "units/manager/units/unit_numbers.ts";

/** Names one run of a unit, as systemd does. */
export const INVOCATION_VARIABLE = "INVOCATION_ID";

/** How a look at the machine is paced while waiting for processes to go. */
const POLL: Backoff = { firstMs: 5, maxMs: 100 };
const SIGCONT = 18;
/** A process that survives SIGKILL this long hangs in the kernel; nobody can end it. */
export const KILL_MS_MAX = 10_000;

/** What a run's processes need of the machine. */
export interface MemberDeps {
  readonly kernel: Kernel;
  readonly clock: Clock;
}

/** The processes of one run. */
export class Members {
  readonly #deps: MemberDeps;
  readonly #seen = new Set<string>();
  readonly #main: ProcessName;
  /** In the environment of what the run started, unless that cleared it. */
  readonly #invocation: string;
  #isMainEnded = false;
  /** Whether the main process's pid is still the name of its group and session. */
  #leads = true;

  constructor(deps: MemberDeps, main: ProcessName, invocation: string) {
    this.#deps = deps;
    this.#main = main;
    this.#invocation = invocation;
    this.#seen.add(processKey(main));
  }

  /** Looks who belongs to the run now and remembers it. */
  look(table: readonly ProcessEntry[] = readTable(this.#deps.kernel)): readonly ProcessEntry[] {
    const leaders = new Set(this.#leads ? [this.#main.pid] : []);
    const members = findMembers(table, leaders, this.#seen);
    for (const member of members) this.#seen.add(processKey(member));
    if (this.#isMainEnded) this.#leads &&= members.some((it) => it.group === this.#main.pid);
    return members;
  }

  /**
   * The main process was reaped: its pid stays the name of its group only while that has members.
   * What has lost its parent and left the group since the last look is found by its environment.
   */
  mainEnded(): readonly ProcessEntry[] {
    this.#isMainEnded = true;
    const { kernel } = this.#deps;
    const table = readTable(kernel);
    const members = new Set(this.look(table).map((member) => member.pid));
    const start = BigInt(this.#main.start);
    for (const entry of table) {
      if (members.has(entry.pid) || BigInt(entry.start) < start) continue;
      if (readVariable(kernel, entry.pid, INVOCATION_VARIABLE) === this.#invocation) {
        this.#seen.add(processKey(entry));
      }
    }
    return this.look();
  }

  /** Sends a signal to every member, or to one of them; what was stopped is let run, to hear it. */
  signal(name: string, only?: number): void {
    const members = this.look().filter((member) => only === undefined || member.pid === only);
    const number = SIGNALS[name.slice("SIG".length)];
    if (number === undefined) throw new RangeError(`Cannot send ${name}: not a known signal`);
    const send = only === undefined ? signalAll : signalEach;
    send(this.#deps.kernel, members, number);
    send(this.#deps.kernel, members, SIGCONT);
  }

  /** Adds up what the members use. */
  memoryBytes(table: readonly ProcessEntry[]): number {
    return this.look(table)
      .reduce((sum, member) => sum + readMemoryBytes(this.#deps.kernel, member.pid), 0);
  }

  /** Resolves with the members that are left when all are gone or `ms` have passed. */
  waitGone(ms: number, signal?: AbortSignal): Promise<readonly ProcessEntry[]> {
    return waitUntilNone(this.#deps.clock, () => this.look(), { ms, signal });
  }

  /** Kills every member, and what they start meanwhile, until none is left; returns survivors. */
  killAll(): Promise<readonly ProcessEntry[]> {
    return waitUntilNone(this.#deps.clock, () => {
      const members = this.look();
      signalAll(this.#deps.kernel, members, SIGNALS.KILL as number);
      return members;
    }, { ms: KILL_MS_MAX, signal: undefined });
  }
}

/** Signals groups that consist of members as one, so that no fork slips through; then the rest. */
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

/** Looks again and again until `look` finds nobody. */
export async function waitUntilNone(
  clock: Clock,
  look: () => readonly ProcessEntry[],
  until: { readonly ms: number; readonly signal: AbortSignal | undefined },
): Promise<readonly ProcessEntry[]> {
  const end = clock.monotonic() + until.ms;
  for (let looks = 0;; looks++) {
    const left = look();
    const ms = Math.min(backoffMs(POLL, looks), end - clock.monotonic());
    if (left.length === 0 || ms <= 0 || until.signal?.aborted === true) return left;
    await clock.sleep(ms, until.signal);
  }
}
