/**
 * One end for many reasons: whoever finds that some work is over cuts it, and whoever does the work
 * is told once. Like `AbortSignal`, without events, because every request of a proxy has one.
 *
 * @module
 */

/** The end of one piece of work. */
export class Cut {
  #reason: string | undefined;
  #runs: (() => void)[] = [];

  /** Why it was cut; undefined while it was not. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Ends the work; the first reason stays. */
  cut(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    const runs = this.#runs;
    this.#runs = [];
    for (const run of runs) run();
  }

  /** Calls `run` at the end, or at once when it has come; returns what takes it back. */
  on(run: () => void): () => void {
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
