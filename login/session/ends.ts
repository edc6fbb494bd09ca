/**
 * Ends sessions. An end that cannot be stored takes effect in this process at once and is stored
 * later.
 *
 * @module
 */

import type { LoginStore } from "core/login/store.ts";
import { ok, type Result } from "core/result.ts";
import type { DiskReserve } from "login/disk_reserve.ts";

/** Dependencies of the ends. */
export interface SessionEndsDeps {
  readonly store: Pick<LoginStore, "list" | "end" | "endAll">;
  readonly reserve: Pick<DiskReserve, "retry">;
  /** Called with the ids of ended sessions, before and after their end is stored. */
  readonly onEnded: (ids: readonly string[]) => void;
  /** Called when an end could not be stored. */
  readonly onUnstored: (() => void) | undefined;
}

/** Ends sessions and remembers those whose end is not stored. */
export class SessionEnds {
  readonly #deps: SessionEndsDeps;
  /** Sessions that ended here and whose rows are still in the store. */
  readonly #unstored = new Set<string>();

  constructor(deps: SessionEndsDeps) {
    this.#deps = deps;
  }

  /** Whether a session ended here and its row is still in the store. */
  isUnstored(id: string): boolean {
    return this.#unstored.has(id);
  }

  /** Ends a session and all sessions of the same login. */
  async end(id: string): Promise<Result<void>> {
    const { store, reserve, onEnded, onUnstored } = this.#deps;
    // Before the first await, so that no new lease is acquired.
    this.#endHere([id]);
    const done = await reserve.retry(() => store.end(id));
    if (!done.ok) {
      onUnstored?.();
      return done;
    }
    this.#unstored.delete(id);
    onEnded(done.value);
    return ok(undefined);
  }

  /** Ends all sessions and refresh references of a principal. */
  async endAll(principal: string): Promise<Result<void>> {
    const { store, reserve, onUnstored } = this.#deps;
    const ids = new Set<string>();
    const done = await reserve.retry(() => {
      // A session may have opened while the reserve was deleted.
      const found = store.list(principal).map(({ id }) => id).filter((id) => !ids.has(id));
      for (const id of found) ids.add(id);
      this.#endHere(found);
      return store.endAll(principal);
    });
    if (!done.ok) {
      onUnstored?.();
      return done;
    }
    for (const id of ids) this.#unstored.delete(id);
    return ok(undefined);
  }

  /** Retries ends that could not be stored; returns how many remain. */
  storePending(): number {
    const { store, onEnded } = this.#deps;
    for (const id of this.#unstored) {
      const done = store.end(id);
      if (!done.ok) break;
      this.#unstored.delete(id);
      onEnded(done.value);
    }
    return this.#unstored.size;
  }

  #endHere(ids: readonly string[]): void {
    for (const id of ids) this.#unstored.add(id);
    this.#deps.onEnded(ids);
  }
}
