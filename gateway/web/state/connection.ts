/**
 * The state of the page's one connection, as the pill shows it, and when to try again. Pure.
 *
 * @module
 */

/** What the pill shows. */
export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "online" }
  /** A try failed; the next one is at `retryAt`. */
  | { readonly kind: "waiting"; readonly attempt: number; readonly retryAt: number }
  | { readonly kind: "retrying"; readonly attempt: number }
  /** The session is over, or nobody was signed in. */
  | { readonly kind: "signed-out" };

const FIRST_DELAY_MS = 800;
const DELAY_MAX_MS = 15_000;
/** A stream that says nothing for this long is dead: the gateway speaks every 15 s. */
export const SILENCE_MAX_MS = 40_000;

/** Milliseconds before try `attempt` (1 is the first after a failure); `chance` lies in 0…1. */
export function retryDelay(attempt: number, chance: number): number {
  const full = Math.min(DELAY_MAX_MS, FIRST_DELAY_MS * 2 ** Math.min(attempt - 1, 10));
  // Never less than the first delay, so that many pages do not come back at once.
  return Math.round(Math.max(FIRST_DELAY_MS, full * (0.5 + chance / 2)));
}

/** Words of the pill; undefined when it is not shown. */
export function pillWords(state: Connection, now: number): string | undefined {
  switch (state.kind) {
    case "connecting":
    case "online":
      return undefined;
    case "retrying":
      return "Reconnecting…";
    case "signed-out":
      return "You are signed out";
    case "waiting": {
      const seconds = Math.max(0, Math.ceil((state.retryAt - now) / 1_000));
      return seconds === 0 ? "Reconnecting…" : `No connection. Next try in ${seconds} s`;
    }
  }
}
