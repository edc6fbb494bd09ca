/**
 * The tokens of turns in the dial unit's database: one row for each turn and model, and one for a
 * turn whose runtime reported nothing. `units/dial/store.ts` writes a row and its event in one
 * transaction, so that no crash separates them.
 *
 * @module
 */

import { EVENT_PAYLOADS } from "core/dial/event.ts";
import type { UsageOfDay, UsageOfModel } from "core/dial/usage_shapes.ts";
import { USAGE_LIMITS } from "core/limits/usage.ts";
import type { Database, SqlValue } from "core/ports/databases.ts";
import { DAY_MS } from "core/text/duration.ts";

// The kind of origin is stored because nothing else keeps it: the text of the turn is deleted.
/** SQL of the table. */
export const USAGE_TABLE = `
create table if not exists usage (
  place integer primary key autoincrement,
  at integer not null,
  turn_id text not null,
  origin text not null,
  model text not null,
  is_known integer not null,
  is_partial integer not null,
  input_tokens integer not null,
  output_tokens integer not null,
  cached_read_tokens integer not null,
  cached_write_tokens integer not null,
  unique (turn_id, model)
) strict;
create index if not exists usage_at on usage (at);
`;

/** An event of a turn. */
interface TurnEvent {
  readonly at: number;
  readonly turnId?: string | undefined;
  readonly kind: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** A turn as its event finds it. */
export interface TurnAtEvent {
  /** Such as `owner:<email>`. */
  readonly origin: string;
  /** Whether the turn has begun and not ended. */
  readonly isRunning: boolean;
}

/** A period: from `since` on, and before `until`; milliseconds since the epoch. */
export interface UsagePeriod {
  readonly since: number;
  readonly until: number;
}

/** The usage of a period. */
export interface UsageSums {
  readonly days: readonly UsageOfDay[];
  readonly models: readonly UsageOfModel[];
}

/** Reads and writes the usage of turns. */
export interface UsageTable {
  /**
   * Stores the figures of a `usage` event. At `turn_ended` it stores that a turn without figures
   * took place, and deletes what is too old. Call it only inside a transaction.
   */
  note(event: TurnEvent, turnOf: (turnId: string) => TurnAtEvent | undefined): void;
  /** Whether the figures of a turn are stored. */
  isNoted(turnId: string): boolean;
  /** Sums by day, and by day and model; at most `rowsMax` rows of each. */
  sum(period: UsagePeriod, rowsMax: number): UsageSums;
}

/** Ends of turns that the runtime never received, so that they used nothing. */
const NOT_PROMPTED: ReadonlySet<unknown> = new Set([
  "cancelled-before-start",
  "runtime-not-started",
  "ceiling-reached",
  "ceiling-unpriced",
  "host-ceiling-reached",
  "host-ceiling-unchecked",
  "host-ceiling-unpriced",
]);

type Row = Readonly<Record<string, SqlValue>>;

/** Opens the table of a prepared database. */
export function openUsageTable(db: Database): UsageTable {
  const insert = db.prepare(
    "insert into usage (at, turn_id, origin, model, is_known, is_partial, input_tokens, " +
      "output_tokens, cached_read_tokens, cached_write_tokens) " +
      "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (turn_id, model) do nothing",
  );
  const isNoted = db.prepare("select 1 as found from usage where turn_id = ? limit 1");
  const forgetOld = db.prepare("delete from usage where at < ?");
  const forgetFirst = db.prepare(
    "delete from usage where place <= (select max(place) from usage) - ?",
  );
  const days = db.prepare(DAYS);
  const models = db.prepare(MODELS);

  function noteFigures({ at, turnId = "", payload }: TurnEvent, origin: string): void {
    const figures = EVENT_PAYLOADS.usage.parse(payload);
    for (const of of figures.models) {
      insert.run(
        Math.round(at),
        turnId,
        kindOf(origin),
        of.model,
        1,
        figures.is_partial === true ? 1 : 0,
        of.input_tokens,
        of.output_tokens,
        of.cached_read_tokens,
        of.cached_write_tokens,
      );
    }
  }

  function sweep(now: number): void {
    forgetOld.run(Math.round(now) - USAGE_LIMITS.daysKept * DAY_MS);
    forgetFirst.run(USAGE_LIMITS.rowsKept);
  }

  return {
    note(event, turnOf) {
      const { at, turnId, kind, payload } = event;
      if (turnId === undefined || (kind !== "usage" && kind !== "turn_ended")) return;
      const turn = turnOf(turnId);
      if (turn === undefined || !turn.isRunning) return;
      if (kind === "usage") return noteFigures(event, turn.origin);
      if (!NOT_PROMPTED.has(payload.code) && isNoted.get(turnId) === undefined) {
        insert.run(Math.round(at), turnId, kindOf(turn.origin), "", 0, 0, 0, 0, 0, 0);
      }
      sweep(at);
    },
    isNoted: (turnId) => isNoted.get(turnId) !== undefined,
    sum: ({ since, until }, rowsMax) => ({
      days: days.all(since, until, rowsMax).map(readDay),
      models: models.all(since, until, rowsMax).map(readModel),
    }),
  };
}

/** Returns the kind of an origin: `owner`, `agent` or `host`. */
function kindOf(origin: string): string {
  return origin.split(":", 1)[0] ?? "";
}

const DAYS = `
select at / ${DAY_MS} as day, count(distinct turn_id) as turns,
  count(distinct case when is_known = 0 then turn_id end) as unknown_turns,
  count(distinct case when is_partial = 1 then turn_id end) as partial_turns
from usage where at >= ? and at < ? group by day order by day limit ?`;

const MODELS = `
select at / ${DAY_MS} as day, model, count(*) as turns, sum(is_partial) as partial_turns,
  sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
  sum(cached_read_tokens) as cached_read_tokens, sum(cached_write_tokens) as cached_write_tokens,
  max(input_tokens + cached_read_tokens + cached_write_tokens) as largest_input_tokens
from usage where at >= ? and at < ? and is_known = 1
group by day, model order by day, model limit ?`;

function readDay(row: Row): UsageOfDay {
  return {
    day: dayText(row.day),
    turns: Number(row.turns),
    unknown_turns: Number(row.unknown_turns),
    partial_turns: Number(row.partial_turns),
  };
}

function readModel(row: Row): UsageOfModel {
  return {
    day: dayText(row.day),
    model: String(row.model),
    turns: Number(row.turns),
    partial_turns: Number(row.partial_turns),
    input_tokens: Number(row.input_tokens),
    output_tokens: Number(row.output_tokens),
    cached_read_tokens: Number(row.cached_read_tokens),
    cached_write_tokens: Number(row.cached_write_tokens),
    largest_input_tokens: Number(row.largest_input_tokens),
  };
}

/** Returns the date of a day that is counted from the epoch. */
function dayText(day: SqlValue | undefined): string {
  return new Date(Number(day) * DAY_MS).toISOString().slice(0, 10);
}
