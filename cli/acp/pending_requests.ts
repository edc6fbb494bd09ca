/**
 * Requests that an editor shows to a person, one for each thing that a turn waits for. Whatever
 * ends the wait elsewhere withdraws the request.
 *
 * @module
 */

import type { NoteWeight } from "cli/acp/turn_view.ts";
import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Result } from "core/result.ts";

/** Sends what the person decided to the dial unit. */
export type SendDecision = () => Promise<Result<unknown>>;

/** What all requests of a turn need. */
export interface RequestDeps {
  readonly clock: Pick<Clock, "after">;
  /** Whether the editor has cancelled the turn. */
  isCancelled(): boolean;
  note(text: string, weight: NoteWeight): void;
}

/** How one request is shown and answered. */
export interface ShownRequest {
  readonly id: string;
  /** Shows it; aborting `signal` withdraws it. Without a decision it returns undefined. */
  ask(signal: AbortSignal): Promise<SendDecision | undefined>;
  /** Tells the person where else to decide. */
  tellHow(): void;
}

/** Time in which a cancel may follow an answer without a decision. */
const UNDECIDED_MS = 1_000;

interface Pending {
  /** Aborted when the wait is over. */
  readonly over: AbortController;
  /** Whether this editor's decision is on its way, or has counted. */
  isDecidedHere: boolean;
}

/** The open requests of one turn. */
export class PendingRequests {
  readonly #deps: RequestDeps;
  readonly #open = new Map<string, Pending>();

  constructor(deps: RequestDeps) {
    this.#deps = deps;
  }

  /** Shows a request; never waits for the person. */
  show(request: ShownRequest): void {
    const pending: Pending = { over: new AbortController(), isDecidedHere: false };
    this.#open.set(request.id, pending);
    void this.#ask(request, pending);
  }

  /**
   * Withdraws a request whose wait is over. Returns who decided it, if it was open: this editor, or
   * another surface.
   */
  over(id: string): "here" | "elsewhere" | undefined {
    const pending = this.#open.get(id);
    if (pending === undefined) return undefined;
    this.#open.delete(id);
    pending.over.abort();
    return pending.isDecidedHere ? "here" : "elsewhere";
  }

  /** Returns the ids of the open requests. */
  ids(): readonly string[] {
    return [...this.#open.keys()];
  }

  /** Never rejects: an editor that cannot ask shows where else to decide. */
  async #ask(request: ShownRequest, pending: Pending): Promise<void> {
    const { note } = this.#deps;
    const { signal } = pending.over;
    try {
      const send = await request.ask(signal);
      if (signal.aborted) return;
      if (send === undefined) return this.#undecided(request, signal);
      pending.isDecidedHere = true;
      const sent = await send();
      if (sent.ok) return;
      pending.isDecidedHere = false;
      note(sent.error.message, "plain");
    } catch (thrown) {
      if (signal.aborted) return;
      note(`This editor did not ask: ${errorText(thrown)}`, "aside");
      request.tellHow();
    }
  }

  /**
   * An editor that cancels a turn also answers its requests without a decision, in any order. So a
   * moment passes before the editor shows where else to decide.
   */
  #undecided(request: ShownRequest, signal: AbortSignal): void {
    const { clock, isCancelled } = this.#deps;
    const forget = clock.after(UNDECIDED_MS, () => {
      if (!isCancelled()) request.tellHow();
    });
    signal.addEventListener("abort", forget, { once: true });
  }
}
