/**
 * Waiting turns that their sender wants the running turn to read. They are passed to the runtime
 * until it confirms them, the turn starts by itself, or it is cancelled. A waiting turn ends in the
 * transaction that records the confirmation, so it is read once, also after a kill.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Log } from "core/ports/log.ts";
import type { RuntimeSession } from "units/dial/runtimes/driver.ts";
import type { AcceptedTurn, DialStore, EventDraft, TurnMove } from "units/dial/store.ts";

/** The waiting turns of one runner. */
export class Steering {
  readonly #store: Pick<DialStore, "stateOf" | "find">;
  readonly #log: Log;
  readonly #wanted = new Set<string>();
  #running: { readonly turn: AcceptedTurn; readonly session: RuntimeSession } | undefined;

  constructor(store: Pick<DialStore, "stateOf" | "find">, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Passes a waiting turn to the running one, now or when its session is ready. */
  want(turnId: string): void {
    this.#wanted.add(turnId);
    this.#pass();
  }

  /** The runtime is about to receive the turn. */
  begin(turn: AcceptedTurn, session: RuntimeSession): void {
    this.#running = { turn, session };
    this.#pass();
  }

  /** The runtime no longer works on the turn. */
  end(): void {
    this.#running = undefined;
  }

  #pass(): void {
    const { turn: running, session } = this.#running ?? {};
    if (running === undefined || session?.steer === undefined) return;
    for (const id of this.#wanted) {
      const turn = this.#store.stateOf(id) === "accepted" ? this.#store.find(id) : undefined;
      if (turn === undefined) {
        this.#wanted.delete(id);
        continue;
      }
      // The files of a turn become parts of its own prompt.
      const hasFiles = turn.files !== undefined && turn.files.length > 0;
      if (hasFiles || turn.conversation !== running.conversation) continue;
      session.steer({ turnId: running.turnId, id, text: turn.text })
        .catch((thrown) => this.#log.error("message not passed", { error: errorText(thrown) }));
    }
  }
}

/** Returns what ends a waiting turn that the running one has read; undefined when it has ended. */
export function endOfSteered(
  store: Pick<DialStore, "stateOf">,
  turnId: string,
  at: number,
): { readonly draft: EventDraft; readonly move: TurnMove } | undefined {
  if (store.stateOf(turnId) !== "accepted") return undefined;
  return {
    draft: { at, turnId, kind: "turn_ended", payload: { outcome: "completed", code: "steered" } },
    move: { turnId, to: "ended" },
  };
}
