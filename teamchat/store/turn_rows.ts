/**
 * Rows of turns as values. Turns that agents have are cached as last read or changed. Several
 * changes to a row in one transaction are written once.
 *
 * Changes are saved before their transaction ends, and the cache is cleared after a rollback. So
 * after each transaction it equals the rows. No queued turn stays in it, because a delivery may
 * change the turn's text (`teamchat/store/intake.ts`).
 *
 * @module
 */

import type { Database } from "core/ports/databases.ts";
import type { BufferedRows } from "teamchat/store/batch.ts";
import { createOpenTurns, type OpenTurns } from "teamchat/store/open_turns.ts";
import type { Row } from "teamchat/store/schema.ts";
import type {
  Cut,
  DeliveryOutcome,
  DeliveryProgress,
  ReplyContext,
  Turn,
  TurnOutcome,
  TurnState,
} from "teamchat/store/turn.ts";

/** A turn, with fields that only the store and the delivery use. */
export interface StoredTurn extends Turn {
  readonly place: number;
  readonly changed: number;
  readonly delivery: DeliveryOutcome | undefined;
}

/** Fields of a turn that can change. */
export type TurnChange = Partial<
  Pick<
    StoredTurn,
    | "state"
    | "isCancelRequested"
    | "text"
    | "answer"
    | "outcome"
    | "reason"
    | "progress"
    | "delivery"
    | "changed"
  >
>;

/** Reads and changes rows. */
export interface TurnRows extends BufferedRows {
  /** The index of open turns, saved and rolled back with the rows. */
  readonly open: OpenTurns;
  get(turnId: string): StoredTurn | undefined;
  /** Keeps a queued turn that was read, because it is needed again when its agent has it. */
  offer(turn: StoredTurn): void;
  /** Changes a turn from `get`; call it within a transaction that ends with `save`. */
  change(turn: StoredTurn, change: TurnChange): void;
}

/** Number of cached turns, and characters of one: longer ones are read each time. */
const TURNS_KEPT = 4_096;
const KEPT_LENGTH_MAX = 16 * 1_024;

interface Kept {
  turn: StoredTurn;
  /** What `save` must write; `state` when an index depends on it. */
  dirty: "no" | "row" | "state";
}

/** Opens the rows over prepared tables. */
export function openTurnRows(db: Database): TurnRows {
  return new CachedTurnRows(db);
}

class CachedTurnRows implements TurnRows {
  readonly open: OpenTurns;
  readonly #sql: ReturnType<typeof statements>;
  readonly #kept = new Map<string, Kept>();
  readonly #offered = new Map<string, StoredTurn>();
  readonly #dirty = new Set<Kept>();

  constructor(db: Database) {
    this.open = createOpenTurns(db);
    this.#sql = statements(db);
  }

  get(turnId: string): StoredTurn | undefined {
    const known = this.#kept.get(turnId);
    if (known !== undefined) return known.turn;
    const still = this.#stillQueued(turnId);
    if (still !== undefined) return still;
    const row = this.#sql.select.get(turnId);
    if (row === undefined) return undefined;
    const turn = readTurn(row);
    if (isKept(turn)) this.#keep(turn);
    return turn;
  }

  offer(turn: StoredTurn): void {
    if (this.#offered.size >= TURNS_KEPT) this.#offered.clear();
    this.#offered.set(turn.turnId, turn);
  }

  change(turn: StoredTurn, change: TurnChange): void {
    const next = { ...turn, ...change };
    const entry = this.#kept.get(turn.turnId) ?? this.#keep(next);
    entry.turn = next;
    if (next.state !== turn.state) entry.dirty = "state";
    else if (entry.dirty === "no") entry.dirty = "row";
    this.#dirty.add(entry);
  }

  begin(): void {
    this.open.begin();
  }

  save(): void {
    for (const entry of this.#dirty) {
      const { turn } = entry;
      const values = valuesOf(turn);
      if (entry.dirty === "state") {
        this.#sql.updateState.run(turn.state, ...values);
        this.open.put(turn.agent, turn.place, turn.state);
      } else this.#sql.updateRow.run(...values);
      entry.dirty = "no";
      if (!isKept(turn)) this.#kept.delete(turn.turnId);
    }
    this.#dirty.clear();
  }

  forget(): void {
    this.#kept.clear();
    this.#offered.clear();
    this.#dirty.clear();
    this.open.undo();
  }

  #keep(turn: StoredTurn): Kept {
    if (this.#kept.size >= TURNS_KEPT) this.#dropOldest();
    const entry: Kept = { turn, dirty: "no" };
    this.#kept.set(turn.turnId, entry);
    return entry;
  }

  /** A row that is not saved yet must stay. */
  #dropOldest(): void {
    for (const [turnId, { dirty }] of this.#kept) {
      if (dirty === "no") return void this.#kept.delete(turnId);
    }
  }

  /**
   * Returns an offered turn if it is still queued, with its current text, which alone may have
   * changed.
   */
  #stillQueued(turnId: string): StoredTurn | undefined {
    const turn = this.#offered.get(turnId);
    if (turn === undefined) return undefined;
    this.#offered.delete(turnId);
    const row = this.#sql.queued.get(turn.place);
    return row === undefined ? undefined : { ...turn, text: String(row.text) };
  }
}

function statements(db: Database) {
  const columns = "cancel_requested = ?, text = ?, answer = ?, outcome = ?, reason = ?, " +
    "stream = ?, stream_at = ?, parts_sent = ?, cuts = ?, held = ?, sending = ?, ids = ?, " +
    "delivery = ?, changed = ? where place = ?";
  return {
    select: db.prepare("select * from turns where turn_id = ?"),
    updateRow: db.prepare(`update turns set ${columns}`),
    updateState: db.prepare(`update turns set state = ?, ${columns}`),
    queued: db.prepare("select text from turns where place = ? and state = 'queued'"),
  };
}

function isKept({ state, text, answer }: StoredTurn): boolean {
  return state !== "queued" && state !== "closed" &&
    text.length + answer.length <= KEPT_LENGTH_MAX;
}

const EMPTY = "[]";

function valuesOf(turn: StoredTurn) {
  const { progress } = turn;
  return [
    turn.isCancelRequested ? 1 : 0,
    turn.text,
    turn.answer,
    turn.outcome ?? null,
    turn.reason ?? null,
    progress.stream ?? null,
    progress.streamAt ?? null,
    progress.partsSent,
    formatList(progress.cuts),
    progress.held ?? null,
    progress.isSending ? 1 : 0,
    formatList(progress.ids),
    turn.delivery ?? null,
    turn.changed,
    turn.place,
  ] as const;
}

function formatList(list: readonly unknown[]): string {
  return list.length === 0 ? EMPTY : JSON.stringify(list);
}

function parseList<T>(text: string): readonly T[] {
  return text === EMPTY ? [] : JSON.parse(text) as readonly T[];
}

/** Parses a row of `turns`. */
export function readTurn(row: Row): StoredTurn {
  const text = (value: Row[string] | undefined) =>
    value === null || value === undefined ? undefined : String(value);
  return {
    place: Number(row.place),
    changed: Number(row.changed),
    turnId: String(row.turn_id),
    agent: String(row.agent),
    owner: String(row.owner),
    context: JSON.parse(String(row.site)) as ReplyContext,
    activity: text(row.activity),
    text: String(row.text),
    created: Number(row.created),
    expires: Number(row.expires),
    state: String(row.state) as TurnState,
    isCancelRequested: row.cancel_requested === 1,
    answer: String(row.answer),
    outcome: text(row.outcome) as TurnOutcome | undefined,
    reason: text(row.reason),
    sendId: text(row.send_id),
    progress: readProgress(row, text),
    delivery: text(row.delivery) as DeliveryOutcome | undefined,
  };
}

function readProgress(
  row: Row,
  text: (value: Row[string] | undefined) => string | undefined,
): DeliveryProgress {
  const at = row.stream_at;
  return {
    stream: text(row.stream),
    streamAt: at === null || at === undefined ? undefined : Number(at),
    partsSent: Number(row.parts_sent),
    cuts: parseList<Cut>(String(row.cuts)),
    held: text(row.held),
    isSending: row.sending === 1,
    ids: parseList<string>(String(row.ids)),
  };
}
