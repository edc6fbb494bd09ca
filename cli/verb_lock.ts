/**
 * The lock under which a verb changes this host, and its queue. Uids take turns: the uid whose last
 * turn is longest ago is next, and within a uid the oldest verb. So a user with many verbs delays
 * another user by only one verb.
 *
 * Each waiting process holds a lock on its own ticket, `verb.queue/<uid>.<time>.<id>`. The ticket
 * of a dead process is unlocked, and another process removes it. Mutual exclusion relies on
 * `verb.lock` alone; the queue only decides the order.
 *
 * @module
 */

import { type Backoff, backoffMs } from "core/concurrency/backoff.ts";
import type { Paths } from "core/paths.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files, Lock } from "core/ports/files.ts";
import type { Random } from "core/ports/random.ts";
import { isRecord } from "core/text/json_object.ts";

/** The ports that the lock needs. */
export interface VerbLockPorts {
  readonly files: Files;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly random: Pick<Random, "uuid">;
}

/** The uid for which a verb runs, and a callback for the case that it must wait. */
export interface VerbLockFor {
  readonly uid: number;
  readonly onWait: () => void;
}

interface Ticket {
  readonly name: string;
  readonly uid: number;
  readonly atMs: number;
}

interface LockFiles {
  readonly files: Files;
  /** Folder of the tickets. */
  readonly queue: string;
  /** Uid → number of its last turn, for uids that had to wait. */
  readonly served: string;
  readonly lock: string;
}

const POLL: Backoff = { firstMs: 2, maxMs: 50 };
/** Number of uids that are remembered; far more than ever wait at once. */
const SERVED_MAX = 1_024;
const TICKET = /^(\d+)\.(\d+)\.[0-9a-f-]+$/;

/** Waits for the turn of this uid and returns the lock. */
export async function takeVerbLock(
  ports: VerbLockPorts,
  paths: Pick<Paths, "locks">,
  { uid, onWait }: VerbLockFor,
): Promise<Lock> {
  const { files } = ports;
  const lockFiles: LockFiles = {
    files,
    queue: `${paths.locks}/verb.queue`,
    served: `${paths.locks}/verb.served.json`,
    lock: `${paths.locks}/verb.lock`,
  };
  await files.ensureDir(paths.locks, { mode: 0o700 });
  const isFree = (await files.list(lockFiles.queue)).length === 0;
  const lock = isFree ? await files.tryLock(lockFiles.lock) : undefined;
  if (lock !== undefined) return lock;
  onWait();
  await files.ensureDir(lockFiles.queue, { mode: 0o700 });
  const { name, held } = await drawTicket(ports, lockFiles, uid);
  try {
    for (let attempts = 0;; attempts++) {
      const acquired = await isNext(lockFiles, name)
        ? await files.tryLock(lockFiles.lock)
        : undefined;
      if (acquired !== undefined) {
        await noteTurn(lockFiles, uid);
        return acquired;
      }
      await ports.clock.sleep(backoffMs(POLL, attempts));
    }
  } finally {
    await files.remove(`${lockFiles.queue}/${name}`);
    await held.release();
  }
}

async function drawTicket(
  { clock, random }: VerbLockPorts,
  { files, queue }: LockFiles,
  uid: number,
): Promise<{ readonly name: string; readonly held: Lock }> {
  for (;;) {
    const name = `${uid}.${clock.now()}.${random.uuid()}`;
    const held = await files.tryLock(`${queue}/${name}`);
    if (held !== undefined) return { name, held };
    // Before it was locked, another process took it for the ticket of a dead process.
  }
}

/** Whether no living process comes before this ticket. Removes the tickets of dead processes. */
async function isNext({ files, queue, served }: LockFiles, own: string): Promise<boolean> {
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
  // The ticket was removed by hand. The lock itself still excludes other verbs.
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
    // The file is damaged, so only the age of the tickets decides the order.
    return new Map();
  }
  if (!isRecord(found)) return new Map();
  return new Map(
    Object.entries(found).flatMap(([uid, turn]) =>
      typeof turn === "number" ? [[Number(uid), turn]] : []
    ),
  );
}

/** Records whose turn it was. The caller holds the lock, so there is only one writer. */
async function noteTurn({ files, served }: LockFiles, uid: number): Promise<void> {
  const turns = [...await readTurns(files, served)].sort(([, a], [, b]) => a - b);
  const next = (turns.at(-1)?.[1] ?? 0) + 1;
  const kept = turns.filter(([other]) => other !== uid).slice(1 - SERVED_MAX);
  const text = JSON.stringify(Object.fromEntries([...kept, [uid, next]]));
  // A verb must run even on a full disk, for example `gc`.
  await files.write(served, `${text}\n`, { mode: 0o600 }).catch(() => {});
}
