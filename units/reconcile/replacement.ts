/**
 * When the running process of an agent is replaced by one with new inputs. A new version of the
 * programs waits for the end of the agent's turn, for a limited time. Everything else, such as a
 * change of what the agent may do, does not wait. Pure. See ADR 0037.
 *
 * @module
 */

/** Hashes of what a process was started with. */
export interface Origin {
  /** Of the programs and their launchers. */
  readonly build: string;
  /** Of the facts about the agent: its record, its MCPs, its keys and its gateway. */
  readonly rights: string;
}

/**
 * - `at-once`: restart it.
 * - `when-idle`: restart it if the agent has no turn, else let it wait.
 * - `during-turn`: tell the owner of a running turn, then restart it.
 */
export type Replacement = "at-once" | "when-idle" | "during-turn";

/** How long an agent may run an old version, in milliseconds. */
export const REPLACEMENT_MS_MAX = 30 * 60 * 1000;

/** What the decision depends on. */
export interface ReplacementCase {
  /** What the running process was started with; undefined if no record states it. */
  readonly ran: Origin | undefined;
  readonly wanted: Origin | undefined;
  /** False for a process that has a fault, or is still starting: its turns are not served. */
  readonly isServing: boolean;
  /** Since when the process waits; undefined if it does not wait yet. */
  readonly waitsSince: number | undefined;
  readonly now: number;
  /** Whether the operator wants it now. */
  readonly isWantedNow: boolean;
}

/** Decides about a process whose inputs have changed. */
export function decideReplacement(of: ReplacementCase): Replacement {
  const { ran, wanted, isServing, waitsSince, now, isWantedNow } = of;
  if (!isServing || ran === undefined || wanted === undefined) return "at-once";
  if (ran.rights !== wanted.rights) return "at-once";
  // A version that was taken back while the process waited has the build of the process again.
  if (ran.build === wanted.build && waitsSince === undefined) return "at-once";
  return isWantedNow || isOverdue(waitsSince, now) ? "during-turn" : "when-idle";
}

/** Returns whether a process has waited long enough. A clock that was set back ends the wait. */
export function isOverdue(waitsSince: number | undefined, now: number): boolean {
  if (waitsSince === undefined) return false;
  return now < waitsSince || now - waitsSince >= REPLACEMENT_MS_MAX;
}
