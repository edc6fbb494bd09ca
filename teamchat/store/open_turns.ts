/**
 * Which turns wait for which agent, and which it has: their places, in memory. An index
 * of agents on the disk would be a page of its own for nearly every delivery, and a third
 * of what storing one costs.
 *
 * The rows are the truth, and are read once, when the store is opened. From then on whoever stores
 * a turn or changes its state says so within the transaction; one that is undone is undone here.
 *
 * @module
 */

import type { Database } from "core/ports/databases.ts";
import type { TurnState } from "teamchat/store/turn.ts";

/** Places of open turns. */
export interface OpenTurns {
  /** Turns that the agent does not have, oldest first. */
  queued(agent: string): readonly number[];
  queuedCount(agent: string): number;
  /** The oldest of them. */
  next(agent: string): number | undefined;
  /** Turns that the agent has and that have not ended, oldest first. */
  held(agent: string): readonly number[];
  /** The oldest turn of each agent for which one waits. */
  oldest(): readonly number[];
  /** A turn is stored, or is in another state now. */
  put(agent: string, place: number, state: TurnState): void;
  /** A transaction is about to begin. */
  begin(): void;
  /** It was undone. */
  undo(): void;
}

/** Where a turn stands, as far as it matters here. */
type Standing = "queued" | "held" | "over";

interface Places {
  queued: Set<number>;
  held: Set<number>;
}

type Book = Map<string, Places>;

interface Change {
  readonly agent: string;
  readonly place: number;
  readonly before: Standing;
}

/** Reads prepared tables. */
export function createOpenTurns(db: Database): OpenTurns {
  const select = db.prepare(
    "select place, agent, state from turns indexed by turns_open where state <> 'closed' " +
      "order by place",
  );
  const book = readBook(select.all());
  let changes: Change[] = [];
  return {
    queued: (agent) => [...book.get(agent)?.queued ?? []],
    queuedCount: (agent) => book.get(agent)?.queued.size ?? 0,
    next: (agent) => book.get(agent)?.queued.values().next().value,
    held: (agent) => [...book.get(agent)?.held ?? []].sort(byPlace),
    oldest: () => [...book.values()].flatMap(({ queued }) => [...queued.values().take(1)]),
    put: (agent, place, state) => {
      changes.push({ agent, place, before: enter(book, agent, place, standingOf(state)) });
    },
    begin: () => {
      changes = [];
    },
    undo: () => {
      takeBack(book, changes);
      changes = [];
    },
  };
}

function readBook(rows: readonly Readonly<Record<string, unknown>>[]): Book {
  const book: Book = new Map();
  for (const { place, agent, state } of rows) {
    enter(book, String(agent), Number(place), standingOf(String(state) as TurnState));
  }
  return book;
}

function standingOf(state: TurnState): Standing {
  if (state === "queued") return "queued";
  return state === "delivered" || state === "running" ? "held" : "over";
}

/** Puts a turn where it stands now; returns where it stood. */
function enter(book: Book, agent: string, place: number, now: Standing): Standing {
  const places = book.get(agent) ?? { queued: new Set(), held: new Set() };
  const before = places.queued.delete(place)
    ? "queued"
    : places.held.delete(place)
    ? "held"
    : "over";
  if (now !== "over") places[now].add(place);
  if (places.queued.size + places.held.size > 0) book.set(agent, places);
  else book.delete(agent);
  return before;
}

function takeBack(book: Book, changes: readonly Change[]): void {
  for (const { agent, place, before } of changes.toReversed()) {
    enter(book, agent, place, before);
  }
  for (const agent of new Set(changes.map((change) => change.agent))) {
    const places = book.get(agent);
    // What came back stands behind those that it is older than.
    if (places !== undefined) places.queued = new Set([...places.queued].sort(byPlace));
  }
}

function byPlace(one: number, other: number): number {
  return one - other;
}
