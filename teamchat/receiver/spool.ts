/**
 * Activities that the receiver accepted and the sender does not have yet, in one SQLite file. An
 * item is written before the platform gets 202, and deleted when the sender confirms it. Contains
 * activities, never answers.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Database, Databases } from "core/ports/databases.ts";
import type { Log } from "core/ports/log.ts";
import { err, ok, type Result } from "core/result.ts";
import { openWriter } from "teamchat/store/batch.ts";

/** One activity that waits for the sender. */
export interface SpoolItem {
  /** Its row number, which increases in order of arrival. */
  readonly place: number;
  readonly agent: string;
  /** A time-based UUID. The sender recognizes an item that is delivered twice by it. */
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly received: number;
  readonly body: string;
}

/** Stores accepted activities. */
export interface Spool {
  /**
   * Resolves after the item is on disk. Refuses an item above the limit of its agent or of the
   * whole spool.
   */
  store(item: Omit<SpoolItem, "place">): Promise<Result<SpoolItem>>;
  remove(item: SpoolItem): Promise<Result<void>>;
  /** All waiting items, in order. */
  all(): readonly SpoolItem[];
  /** Number of waiting items. */
  size(): number;
  close(): void;
}

const SCHEMA = `
create table if not exists items (
  place integer primary key,
  agent text not null,
  key text not null,
  received integer not null,
  body text not null
) strict;
`;

/** Opens or creates it; rejects when the file cannot be opened. */
export async function openSpool(
  databases: Databases,
  path: string,
  deps: { readonly clock: Pick<Clock, "after" | "monotonic">; readonly log: Log },
): Promise<Spool> {
  const db = await databases.open(path);
  db.exec(SCHEMA);
  return new SqliteSpool(db, deps);
}

class SqliteSpool implements Spool {
  readonly #db: Database;
  readonly #counts = new Map<string, number>();
  readonly store: Spool["store"];
  readonly remove: Spool["remove"];
  readonly #flush: () => void;
  #size = 0;
  #length = 0;

  constructor(
    db: Database,
    deps: { readonly clock: Pick<Clock, "after" | "monotonic">; readonly log: Log },
  ) {
    this.#db = db;
    for (const item of this.all()) this.#count(item, 1);
    const insert = db.prepare(
      "insert into items (agent, key, received, body) values (?, ?, ?, ?)",
    );
    const drop = db.prepare("delete from items where place = ?");
    const { write, flush } = openWriter({ db, ...deps });
    this.#flush = flush;
    this.store = async (item) => {
      const refused = this.#refuse(item);
      if (refused !== undefined) return refused;
      // Counted before the write, so that concurrent calls do not all use the same free room.
      this.#count(item, 1);
      const { agent, key, received, body } = item;
      const stored = await write("the message", () => {
        const { lastInsertRowid: place } = insert.run(agent, key, received, body);
        return ok({ ...item, place });
      });
      if (!stored.ok) this.#count(item, -1);
      return stored;
    };
    this.remove = async (item) => {
      this.#count(item, -1);
      return await write("the message", () => {
        drop.run(item.place);
        return ok(undefined);
      });
    };
  }

  all(): readonly SpoolItem[] {
    return this.#db.prepare("select * from items order by place").all().map((row) => ({
      place: Number(row.place),
      agent: String(row.agent),
      key: String(row.key),
      received: Number(row.received),
      body: String(row.body),
    }));
  }

  size(): number {
    return this.#size;
  }

  close(): void {
    this.#flush();
    this.#db.close();
  }

  #refuse({ agent, body }: Omit<SpoolItem, "place">): Result<never> | undefined {
    const { queuedTurnsMax, spoolLengthMax } = TEAMCHAT_LIMITS;
    if ((this.#counts.get(agent) ?? 0) >= queuedTurnsMax) {
      return err(refusal(
        "turn-queue-full",
        `Cannot queue the turn: ${queuedTurnsMax} activities of its agent wait, must be fewer`,
      ));
    }
    if (this.#length + body.length <= spoolLengthMax) return undefined;
    return err(refusal(
      "storage-failed",
      "Cannot store the message: too many messages wait for the sender, must be fewer",
    ));
  }

  #count({ agent, body }: Omit<SpoolItem, "place">, by: 1 | -1): void {
    this.#size += by;
    this.#length += by * body.length;
    const count = (this.#counts.get(agent) ?? 0) + by;
    if (count > 0) this.#counts.set(agent, count);
    else this.#counts.delete(agent);
  }
}
