/**
 * Limits of the todo list of a turn.
 *
 * @module
 */

/** Todo lists. */
export const PLAN_LIMITS = {
  /** Entries of one list; a longer one is no help to a reader. */
  entriesMax: 50,
  /** Characters of one entry. */
  entryLengthMax: 300,
} as const;

/** States of an entry. */
export const PLAN_STATES = ["pending", "active", "done"] as const;

/** One entry of a todo list. */
export interface PlanEntry {
  readonly text: string;
  readonly state: typeof PLAN_STATES[number];
}
