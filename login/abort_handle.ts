/**
 * A light `AbortController` and `AbortSignal` in one, without events, because every proxied request
 * needs one.
 *
 * @module
 */

/** Aborts one task. */
export class AbortHandle {
  #reason: string | undefined;
  #runs: (() => void)[] = [];

  /** Why the task was aborted; undefined if it was not. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Aborts the task; later calls are ignored. */
  abort(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    const runs = this.#runs;
    this.#runs = [];
    for (const run of runs) run();
  }

  /** Calls `run` on abort, or now if already aborted; returns a function that unsubscribes. */
  onAbort(run: () => void): () => void {
    if (this.#reason !== undefined) {
      run();
      return () => {};
    }
    this.#runs.push(run);
    return () => {
      const at = this.#runs.indexOf(run);
      if (at !== -1) this.#runs.splice(at, 1);
    };
  }
}
