/**
 * An in-memory index of open turns by agent: those that wait and those that the agent has. An
 * index on disk would cost one page more for nearly every delivery, a third of the cost of storing
 * one.
 *
 * The rows are the authority and are read once, when the store is opened. From then on, code that
 * stores a turn or changes its state updates the index within the transaction. A rollback also
 * undoes the index.
 *
 * @module
 */

import type { Database } from "core/ports/databases.ts";
import type { TurnState } from "teamchat/store/turn.ts";

/** Rows of open turns. */
export interface OpenTurns {
  /** Turns that the agent does not have, oldest first. */
  queued(agent: string): readonly number[];
  queuedCount(agent: string): number;
  /** The oldest of the queued turns. */
  next(agent: string): number | undefined;
  /** Turns that the agent has and that have not ended, oldest first. */
  held(agent: string): readonly number[];
  /** The oldest waiting turn of each agent that has one. */
  oldest(): readonly number[];
  /** Call when a turn is stored, or has changed its state. */
  put(agent: string, place: number, state: TurnState): void;
  /** Call before a transaction begins. */
  begin(): void;
  /** Call after a rollback. */
  undo(): void;
}

/** State of a turn, as far as this index needs it. */
type Standing = "queued" | "held" | "over";

interface Places {
  queued: Set<number>;
  held: Set<number>;
}

type Index = Map<string, Places>;

interface Change {
  readonly agent: string;
  readonly place: number;
  readonly before: Standing;
}

/** Reads the prepared tables. */
export function createOpenTurns(db: Database): OpenTurns {
  const select = db.prepare(
    "select place, agent, state from turns indexed by turns_open where state <> 'closed' " +
      "order by place",
  );
  const index = readIndex(select.all());
  let changes: Change[] = [];
  return {
    queued: (agent) => [...index.get(agent)?.queued ?? []],
    queuedCount: (agent) => index.get(agent)?.queued.size ?? 0,
    next: (agent) => index.get(agent)?.queued.values().next().value,
    held: (agent) => [...index.get(agent)?.held ?? []].sort(byPlace),
    oldest: () => [...index.values()].flatMap(({ queued }) => [...queued.values().take(1)]),
    put: (agent, place, state) => {
      changes.push({ agent, place, before: enter(index, agent, place, standingOf(state)) });
    },
    begin: () => {
      changes = [];
    },
    undo: () => {
      takeBack(index, changes);
      changes = [];
    },
  };
}

function readIndex(rows: readonly Readonly<Record<string, unknown>>[]): Index {
  const index: Index = new Map();
  for (const { place, agent, state } of rows) {
    enter(index, String(agent), Number(place), standingOf(String(state) as TurnState));
  }
  return index;
}

function standingOf(state: TurnState): Standing {
  if (state === "queued") return "queued";
  return state === "delivered" || state === "running" ? "held" : "over";
}

/** Moves a turn to its current state; returns the previous state. */
function enter(index: Index, agent: string, place: number, now: Standing): Standing {
  const places = index.get(agent) ?? { queued: new Set(), held: new Set() };
  const before = places.queued.delete(place)
    ? "queued"
    : places.held.delete(place)
    ? "held"
    : "over";
  if (now !== "over") places[now].add(place);
  if (places.queued.size + places.held.size > 0) index.set(agent, places);
  else index.delete(agent);
  return before;
}

function takeBack(index: Index, changes: readonly Change[]): void {
  for (const { agent, place, before } of changes.toReversed()) {
    enter(index, agent, place, before);
  }
  for (const agent of new Set(changes.map((change) => change.agent))) {
    const places = index.get(agent);
    // A turn that returns to the queue must be sorted by age again.
    if (places !== undefined) places.queued = new Set([...places.queued].sort(byPlace));
  }
}

function byPlace(one: number, other: number): number {
  return one - other;
}
