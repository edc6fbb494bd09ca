/**
 * The lock under which a verb changes this host, and the queue in front of it. Among uids the turns
 * go round: the uid that had the lock longest ago comes next, and of one uid the oldest verb. So a
 * user with many verbs delays another by a single one.
 *
 * Each waiting process holds a lock on a ticket of its own, `verb.queue/<uid>.<time>.<id>`: the
 * ticket of one that died is free, and the next one removes it. Exclusion rests on `verb.lock`
 * alone; the queue only says who may try.
 *
 * @module
 */

import { type Backoff, backoffMs } from "core/concurrency/backoff.ts";
import type { Paths } from "core/paths.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files, Lock } from "core/ports/files.ts";
import type { Random } from "core/ports/random.ts";
import { isRecord } from "core/text/json_object.ts";

/** What the lock needs of the machine. */
export interface VerbLockPorts {
  readonly files: Files;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly random: Pick<Random, "uuid">;
}

/** The uid for whom a verb runs, and what is told when it has to wait. */
export interface VerbLockFor {
  readonly uid: number;
  readonly onWait: () => void;
}

interface Ticket {
  readonly name: string;
  readonly uid: number;
  readonly atMs: number;
}

interface Place {
  readonly files: Files;
  /** Folder of the tickets. */
  readonly queue: string;
  /** Uid → number of its last turn, of those that had to wait for it. */
  readonly served: string;
  readonly lock: string;
}

const POLL: Backoff = { firstMs: 2, maxMs: 50 };
/** Uids that are remembered; far more than wait at once. */
const SERVED_MAX = 1_024;
const TICKET = /^(\d+)\.(\d+)\.[0-9a-f-]+$/;

/** Waits for the turn of this uid and returns the lock. */
export async function takeVerbLock(
  ports: VerbLockPorts,
  paths: Pick<Paths, "locks">,
  { uid, onWait }: VerbLockFor,
): Promise<Lock> {
  const { files } = ports;
  const place: Place = {
    files,
    queue: `${paths.locks}/verb.queue`,
    served: `${paths.locks}/verb.served.json`,
    lock: `${paths.locks}/verb.lock`,
  };
  await files.ensureDir(paths.locks, { mode: 0o700 });
  const isFree = (await files.list(place.queue)).length === 0;
  const lock = isFree ? await files.tryLock(place.lock) : undefined;
  if (lock !== undefined) return lock;
  onWait();
  await files.ensureDir(place.queue, { mode: 0o700 });
  const { name, held } = await drawTicket(ports, place, uid);
  try {
    for (let looks = 0;; looks++) {
      const taken = await isNext(place, name) ? await files.tryLock(place.lock) : undefined;
      if (taken !== undefined) {
        await noteTurn(place, uid);
        return taken;
      }
      await ports.clock.sleep(backoffMs(POLL, looks));
    }
  } finally {
    await files.remove(`${place.queue}/${name}`);
    await held.release();
  }
}

async function drawTicket(
  { clock, random }: VerbLockPorts,
  { files, queue }: Place,
  uid: number,
): Promise<{ readonly name: string; readonly held: Lock }> {
  for (;;) {
    const name = `${uid}.${clock.now()}.${random.uuid()}`;
    const held = await files.tryLock(`${queue}/${name}`);
    if (held !== undefined) return { name, held };
    // Another process took it for the ticket of a dead one, before it was locked.
  }
}

/** Whether nobody who lives comes before this ticket. */
async function isNext({ files, queue, served }: Place, own: string): Promise<boolean> {
  const tickets = (await files.list(queue)).flatMap(parseTicket);
  const turns = await readTurns(files, served);
  const order = tickets.sort((a, b) =>
    (turns.get(a.uid) ?? 0) - (turns.get(b.uid) ?? 0) || a.atMs - b.atMs ||
    (a.name < b.name ? -1 : 1)
  );
  for (const { name } of order) {
    if (name === own) return true;
    const left = await files.tryLock(`${queue}/${name}`);
    if (left === undefined) return false;
    await files.remove(`${queue}/${name}`);
    await left.release();
  }
  // A hand removed the ticket: the lock itself still excludes.
  return true;
}

function parseTicket(name: string): readonly Ticket[] {
  const [, uid, atMs] = TICKET.exec(name) ?? [];
  return uid === undefined ? [] : [{ name, uid: Number(uid), atMs: Number(atMs) }];
}

async function readTurns(files: Files, path: string): Promise<ReadonlyMap<number, number>> {
  let found: unknown;
  try {
    found = JSON.parse(await files.readText(path) ?? "{}");
  } catch {
    // Damaged: then the order of asking is all there is.
    return new Map();
  }
  if (!isRecord(found)) return new Map();
  return new Map(
    Object.entries(found).flatMap(([uid, turn]) =>
      typeof turn === "number" ? [[Number(uid), turn]] : []
    ),
  );
}

/** Writes down whose turn it was. The caller holds the lock, so there is one writer. */
async function noteTurn({ files, served }: Place, uid: number): Promise<void> {
  const turns = [...await readTurns(files, served)].sort(([, a], [, b]) => a - b);
  const next = (turns.at(-1)?.[1] ?? 0) + 1;
  const kept = turns.filter(([other]) => other !== uid).slice(1 - SERVED_MAX);
  const text = JSON.stringify(Object.fromEntries([...kept, [uid, next]]));
  // On a full disk a verb must still run: `gc` is one.
  await files.write(served, `${text}\n`, { mode: 0o600 }).catch(() => {});
}
