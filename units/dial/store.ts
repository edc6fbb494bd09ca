/**
 * The durable state of a dial unit, in one SQLite file: the outbox of durable events and the
 * accepted turns. A change of a turn and its event are one transaction, so that a crash cannot
 * separate them. Callers pass the time.
 *
 * Acknowledged events are deleted with the next write. Losing a deletion does no harm, because the
 * gateway states at each registration how far it has come.
 *
 * @module
 */

import type { DurableEvent } from "core/dial/event.ts";
import type { TurnFile } from "core/dial/frames.ts";
import { byteLength } from "core/text/cut_text.ts";
import { fitPayload } from "units/dial/fit_event.ts";
import { TURN_LIMITS } from "core/limits/turn.ts";
import type { Database, Databases, SqlValue } from "core/ports/databases.ts";
import { ok, type Result } from "core/result.ts";
import type { Question } from "core/questions/question.ts";
import { type Approval, isOpen } from "core/risk/approval.ts";
import { writeSql } from "core/store/sql_write.ts";
import {
  APPROVAL_TABLE,
  type ApprovalTable,
  openApprovalTable,
} from "units/dial/approval_table.ts";
import { CUT_TABLE, type CutNote, type CutTable, openCutTable } from "units/dial/cut_table.ts";
import { NOTE_TABLE, type NoteTable, openNoteTable } from "units/dial/note_table.ts";
import {
  openProgressTable,
  PROGRESS_TABLE,
  type ProgressTable,
} from "units/dial/progress_table.ts";
import {
  openQuestionTable,
  QUESTION_TABLE,
  type QuestionTable,
} from "units/dial/question_table.ts";
import { readEvent, statements } from "units/dial/store_sql.ts";
import {
  openUsageTable,
  type TurnAtEvent,
  USAGE_TABLE,
  type UsageTable,
} from "units/dial/usage_table.ts";

// `bytes` comes before `payload`: otherwise SQLite would read every payload to sum the sizes.
const TABLES = `
create table if not exists meta (name text primary key, value text not null) strict;
create table if not exists outbox (
  seq integer primary key,
  at integer not null,
  turn_id text,
  kind text not null,
  bytes integer not null,
  payload text not null
) strict;
create table if not exists turns (
  place integer primary key autoincrement,
  turn_id text not null unique,
  text text not null,
  origin text not null,
  state text not null,
  end_seq integer,
  conversation text,
  files text
) strict;
`;

/** An event without its number. */
export interface EventDraft {
  readonly at: number;
  readonly turnId?: string | undefined;
  readonly kind: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** The image that the event is about; only the progress of the turn contains it. */
  readonly imageId?: string | undefined;
}

/** A turn that was accepted. */
export interface AcceptedTurn {
  readonly turnId: string;
  readonly text: string;
  readonly origin: string;
  /** Its conversation; absent for the default one. */
  readonly conversation?: string | undefined;
  /** Its files, which are on disk. */
  readonly files?: readonly TurnFile[] | undefined;
}

/** A state change of a turn, stored together with its events. */
export interface TurnMove {
  readonly turnId: string;
  readonly to: "running" | "ended";
  /** Text that the runtime receives; absent when it is the accepted one. */
  readonly text?: string;
  /** Whether the runtime can continue the turn after a restart. */
  readonly goesOn?: boolean;
  /** What the next turns of its conversation say about it. */
  readonly cut?: CutNote;
}

/** What waits for a person, stored together with the event about it. */
export interface HeldRecord {
  readonly approval?: Approval;
  readonly question?: Question;
}

/** The store of one dial unit. */
export interface DialStore {
  /** Identity of the outbox. */
  epoch(): string;
  /** Last number assigned, and last number that need not be sent again. */
  last(): number;
  dropped(): number;
  /** Bytes that wait for the gateway's acknowledgement. */
  waitingBytes(): number;
  /**
   * Assigns numbers to events and stores them, together with a state change of a turn, an approval
   * or a question.
   */
  append(drafts: readonly EventDraft[], move?: TurnMove, held?: HeldRecord): Result<void>;
  /** Approvals of calls; written only through `append`. */
  readonly approvals: Omit<ApprovalTable, "put">;
  /** Questions to a person; written only through `append`. */
  readonly questions: Omit<QuestionTable, "put">;
  /** Notes for the runtime's next turn. */
  readonly notes: NoteTable;
  /** Notes about turns that were cut off; written only through `append`. */
  readonly cuts: Omit<CutTable, "put">;
  /** What was recorded of running turns; events are noted only through `append`. */
  readonly progress: Pick<ProgressTable, "of" | "restarted">;
  /** Tokens of turns; written only through `append`. */
  readonly usage: Pick<UsageTable, "isNoted" | "sum">;
  read(from: number, to: number): readonly DurableEvent[];
  acknowledge(seq: number): void;
  /** Renumbers the waiting events from 1 in a new epoch. */
  renumber(newEpoch: string): Result<void>;
  /** Stores a turn, with its event if given. A known turn changes nothing. */
  accept(turn: AcceptedTurn, askedEvent?: EventDraft): Result<"new" | "known">;
  /** Calls `listener` with events once they are stored; returns a function that unsubscribes. */
  listen(listener: (drafts: readonly EventDraft[]) => void): () => void;
  /** The oldest turn that has not started. */
  nextTurn(): AcceptedTurn | undefined;
  stateOf(turnId: string): "accepted" | "running" | "ended" | undefined;
  /** A turn that has not ended. */
  find(turnId: string): AcceptedTurn | undefined;
  /** Turns that started and did not end: after a start, those that a crash interrupted. */
  runningTurns(): readonly string[];
  /** Whether a turn of the conversation runs or waits. */
  isOpen(conversation: string): boolean;
  /** Turns whose end the gateway has not acknowledged. */
  openTurns(): readonly string[];
  close(): void;
}

/** Opens or creates the store; rejects with `FileFault`. `newEpoch` names a new outbox. */
export async function openDialStore(
  databases: Databases,
  path: string,
  newEpoch: string,
): Promise<DialStore> {
  const db = await databases.open(path);
  db.transaction(() => {
    db.exec(TABLES);
    addColumns(db, "turns", ["conversation text", "files text"]);
    db.exec(APPROVAL_TABLE);
    db.exec(QUESTION_TABLE);
    db.exec(NOTE_TABLE);
    db.exec(CUT_TABLE);
    db.exec(PROGRESS_TABLE);
    addColumns(db, "progress", ["arguments text not null default ''"]);
    db.exec(USAGE_TABLE);
    const put = db.prepare("insert or ignore into meta (name, value) values (?, ?)");
    put.run("epoch", newEpoch);
    put.run("last", "0");
  });
  return new SqliteDialStore(db);
}

/**
 * Adds columns to a store of an older version, whose turns are of the default conversation and have
 * no files, and whose calls have no arguments.
 */
function addColumns(db: Database, table: string, columns: readonly string[]): void {
  const rows = db.prepare("select name from pragma_table_info(?)").all(table);
  const known = rows.map(({ name }) => name);
  for (const column of columns) {
    const isKnown = known.includes(column.split(" ")[0]!);
    if (!isKnown) db.exec(`alter table ${table} add column ${column}`);
  }
}

class SqliteDialStore implements DialStore {
  readonly approvals: ApprovalTable;
  readonly questions: QuestionTable;
  readonly notes: NoteTable;
  readonly cuts: CutTable;
  readonly progress: ProgressTable;
  readonly usage: UsageTable;
  readonly #db: Database;
  readonly #sql: ReturnType<typeof statements>;
  #epoch: string;
  #last: number;
  /** Last acknowledged number; rows up to `#deleted` are already deleted. */
  #dropped: number;
  #deleted: number;
  #waiting: number;
  readonly #listeners = new Set<(drafts: readonly EventDraft[]) => void>();

  constructor(db: Database) {
    this.#db = db;
    this.#sql = statements(db);
    this.approvals = openApprovalTable(db);
    this.questions = openQuestionTable(db);
    this.notes = openNoteTable(db);
    this.cuts = openCutTable(db);
    this.progress = openProgressTable(db);
    this.usage = openUsageTable(db);
    const meta = (name: string) => String(this.#sql.meta.get(name)?.value ?? "");
    this.#epoch = meta("epoch");
    this.#last = Number(meta("last"));
    this.#dropped = Number(this.#sql.first.get()?.seq ?? this.#last + 1) - 1;
    this.#deleted = this.#dropped;
    this.#waiting = Number(this.#sql.bytes.get()?.n ?? 0);
  }

  epoch(): string {
    return this.#epoch;
  }

  last(): number {
    return this.#last;
  }

  dropped(): number {
    return this.#dropped;
  }

  waitingBytes(): number {
    return this.#waiting;
  }

  append(drafts: readonly EventDraft[], move?: TurnMove, held: HeldRecord = {}): Result<void> {
    const { approval, question } = held;
    const next = this.#last + drafts.length;
    const written = writeSql(this.#db, "the event", () => {
      if (this.#dropped > this.#deleted) this.#sql.drop.run(this.#dropped);
      const bytes = this.#insert(drafts);
      this.#sql.setMeta.run(String(next), "last");
      for (const draft of drafts) {
        this.usage.note(draft, (turnId) => this.#turnAt(turnId));
        this.progress.note(draft.turnId, draft);
      }
      if (move !== undefined) this.#move(move, next);
      if (approval !== undefined) this.approvals.put(approval, isOpen(approval));
      if (question !== undefined) this.questions.put(question);
      return bytes;
    });
    if (!written.ok) return written;
    this.#deleted = this.#dropped;
    this.#last = next;
    this.#waiting += written.value;
    this.#notify(drafts);
    return ok(undefined);
  }

  read(from: number, to: number): readonly DurableEvent[] {
    return this.#sql.read.all(Math.max(from, this.#dropped + 1), to).map(readEvent);
  }

  acknowledge(seq: number): void {
    if (seq <= this.#dropped) return;
    this.#waiting -= Number(this.#sql.bytesBetween.get(this.#dropped, seq)?.n ?? 0);
    this.#dropped = Math.min(seq, this.#last);
  }

  renumber(newEpoch: string): Result<void> {
    const shift = this.#dropped;
    const written = writeSql(this.#db, "the outbox", () => {
      this.#sql.drop.run(shift);
      // Two steps, through negative numbers, so that new numbers never collide with old ones.
      this.#db.exec("update outbox set seq = -seq");
      this.#sql.shiftEvents.run(shift);
      this.#sql.shiftEnds.run(shift);
      this.#sql.setMeta.run(newEpoch, "epoch");
      this.#sql.setMeta.run(String(this.#last - shift), "last");
    });
    if (!written.ok) return written;
    this.#epoch = newEpoch;
    this.#last -= shift;
    this.#dropped = 0;
    this.#deleted = 0;
    return written;
  }

  accept(turn: AcceptedTurn, askedEvent?: EventDraft): Result<"new" | "known"> {
    const written = writeSql(this.#db, "the turn", () => {
      const { turnId, text, origin, conversation = null } = turn;
      const files = turn.files === undefined ? null : JSON.stringify(turn.files);
      const { changes } = this.#sql.accept.run(turnId, text, origin, conversation, files);
      if (changes !== 1 || askedEvent === undefined) return { isNew: changes === 1, bytes: 0 };
      const bytes = this.#insert([askedEvent]);
      this.#sql.setMeta.run(String(this.#last + 1), "last");
      return { isNew: true, bytes };
    });
    if (!written.ok) return written;
    const { isNew, bytes } = written.value;
    if (isNew && askedEvent !== undefined) {
      this.#last += 1;
      this.#waiting += bytes;
      this.#notify([askedEvent]);
    }
    return ok(isNew ? "new" : "known");
  }

  listen(listener: (drafts: readonly EventDraft[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(drafts: readonly EventDraft[]): void {
    for (const listener of this.#listeners) listener(drafts);
  }

  nextTurn(): AcceptedTurn | undefined {
    return readTurn(this.#sql.next.get());
  }

  find(turnId: string): AcceptedTurn | undefined {
    return readTurn(this.#sql.find.get(turnId));
  }

  stateOf(turnId: string): "accepted" | "running" | "ended" | undefined {
    const state = this.#sql.state.get(turnId)?.state;
    return state === undefined ? undefined : state as "accepted" | "running" | "ended";
  }

  runningTurns(): readonly string[] {
    return this.#sql.running.all().map((row) => String(row.turn_id));
  }

  isOpen(conversation: string): boolean {
    return this.#sql.ofConversation.get(conversation) !== undefined;
  }

  openTurns(): readonly string[] {
    return this.#sql.open.all(this.#dropped).map((row) => String(row.turn_id));
  }

  close(): void {
    this.#db.close();
  }

  #insert(drafts: readonly EventDraft[]): number {
    let bytes = 0;
    drafts.forEach((draft, index) => {
      const payload = JSON.stringify(fitPayload(draft.kind, draft.payload));
      const size = byteLength(payload);
      bytes += size;
      const [seq, at] = [this.#last + 1 + index, Math.round(draft.at)];
      this.#sql.insert.run(seq, at, draft.turnId ?? null, draft.kind, size, payload);
    });
    return bytes;
  }

  #turnAt(turnId: string): TurnAtEvent | undefined {
    const row = this.#sql.turn.get(turnId);
    return row === undefined
      ? undefined
      : { origin: String(row.origin), isRunning: row.state === "running" };
  }

  #move({ turnId, to, text, goesOn, cut }: TurnMove, lastSeq: number): void {
    if (to === "running") {
      this.#sql.begin.run(text ?? null, turnId);
      if (goesOn === true) this.progress.begin(turnId);
      return;
    }
    this.progress.forget(turnId);
    if (cut !== undefined) this.cuts.put(cut);
    this.#sql.end.run(lastSeq, turnId);
    this.#sql.forget.run(this.#dropped, TURN_LIMITS.endedTurnsKept);
  }
}

/** Reads a turn; undefined without a row. */
function readTurn(
  row: Readonly<Record<string, SqlValue>> | undefined,
): AcceptedTurn | undefined {
  return row === undefined ? undefined : {
    turnId: String(row.turn_id),
    text: String(row.text),
    origin: String(row.origin),
    ...(row.conversation === null ? {} : { conversation: String(row.conversation) }),
    ...(row.files === null ? {} : { files: JSON.parse(String(row.files)) as TurnFile[] }),
  };
}
