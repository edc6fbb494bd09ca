/**
 * Processes that may outlive their run (`KillMode=process`). Example: a verb that the daemon
 * started finishes its step while the daemon restarts. The manager tracks them until they end. When
 * it ends itself, it ends them too.
 *
 * @module
 */

import type { ChildRecords } from "units/manager/os/processes/child_records.ts";
import type { Members } from "units/manager/os/processes/members.ts";
import { type ProcessEntry, processKey, type ProcessName } from "core/os/proc.ts";

interface LingeringRun {
  readonly unit: string;
  readonly members: Members;
  readonly outputEnded: Promise<void>;
  /** What the list of children contains, so that a later manager also finds these processes. */
  readonly recorded: Map<string, ProcessName>;
}

/** All processes that have outlived their run. */
export class Lingering {
  readonly #records: ChildRecords;
  readonly #runs = new Set<LingeringRun>();

  constructor(records: ChildRecords) {
    this.#records = records;
  }

  /**
   * Takes over the remaining processes of a run. Their output is still read, because a closed pipe
   * would end them.
   */
  add(unit: string, members: Members, outputEnded: Promise<void>): void {
    const run: LingeringRun = { unit, members, outputEnded, recorded: new Map() };
    this.#runs.add(run);
    this.#refresh(run);
  }

  get size(): number {
    return this.#runs.size;
  }

  /** Records new and ended processes. */
  watch(table: readonly ProcessEntry[]): void {
    for (const run of this.#runs) this.#refresh(run, table);
  }

  /**
   * Sends all of them the stop signal, and kills those that still run after `ms` or on `kill`.
   * Resolves when they are gone.
   */
  async end(ms: number, kill: AbortSignal): Promise<void> {
    await Promise.all([...this.#runs].map(async (run) => {
      run.members.signal("SIGTERM");
      await run.members.waitGone(ms, kill);
      const survivors = await run.members.killAll();
      if (survivors.length === 0) await run.outputEnded;
      this.#refresh(run);
    }));
  }

  #refresh(run: LingeringRun, table?: readonly ProcessEntry[]): void {
    const now = new Map(run.members.refresh(table).map((one) => [processKey(one), one] as const));
    for (const [key, process] of now) {
      if (!run.recorded.has(key)) this.#records.add(run.unit, process);
    }
    for (const [key, process] of run.recorded) {
      if (!now.has(key)) this.#records.remove(process);
    }
    run.recorded.clear();
    for (const [key, process] of now) run.recorded.set(key, process);
    if (now.size === 0) this.#runs.delete(run);
  }
}
