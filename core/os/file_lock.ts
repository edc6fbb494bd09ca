/**
 * Exclusive locks between processes: flock(2) on a lock file that is created 0600 and kept. The
 * kernel releases the lock when its holder dies, so no lock is ever stale. Waiters in one process
 * queue in order. Between processes the lock is polled at short, growing intervals. A blocking
 * flock would occupy a worker thread and could not be cancelled.
 *
 * @module
 */

import { type Backoff, backoffMs } from "core/concurrency/backoff.ts";
import { FileFault, type Files, type Lock } from "core/ports/files.ts";
import { fileFault, posixCode } from "core/os/file_fault.ts";
import { systemClock } from "core/os/clock.ts";

const RETRY: Backoff = { firstMs: 2, maxMs: 50 };

/** Returns the two lock operations of `Files`. */
export function fileLocks(): Pick<Files, "lock" | "tryLock"> {
  const clock = systemClock();
  /** The tail of this process's queue for each path. */
  const queues = new Map<string, Promise<void>>();

  async function lock(path: string, signal?: AbortSignal): Promise<Lock> {
    const turn = Promise.withResolvers<void>();
    const before = queues.get(path);
    const mine = (before ?? Promise.resolve()).then(() => turn.promise);
    queues.set(path, mine);
    const leave = () => {
      turn.resolve();
      if (queues.get(path) === mine) queues.delete(path);
    };
    try {
      await waitFor(before, signal);
      for (let tries = 0;; tries++) {
        signal?.throwIfAborted();
        const file = await tryOnce(path);
        if (file !== undefined) return heldLock(file, leave);
        await clock.sleep(backoffMs(RETRY, tries), signal);
      }
    } catch (thrown) {
      leave();
      throw thrown;
    }
  }

  async function tryLock(path: string): Promise<Lock | undefined> {
    if (queues.has(path)) return undefined;
    const file = await tryOnce(path);
    return file === undefined ? undefined : heldLock(file, () => {});
  }

  return { lock, tryLock };
}

/** Rejects with the signal's reason if the signal fires first. */
async function waitFor(
  before: Promise<void> | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  signal?.throwIfAborted();
  if (before === undefined) return;
  if (signal === undefined) return await before;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    await Promise.race([before, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

function heldLock(file: Deno.FsFile, leave: () => void): Lock {
  let isHeld = true;
  return {
    release: () => {
      if (isHeld) {
        isHeld = false;
        // The lock is released by closing the only descriptor of this open file.
        file.close();
        leave();
      }
      return Promise.resolve();
    },
  };
}

async function tryOnce(path: string): Promise<Deno.FsFile | undefined> {
  try {
    const file = await openLockFile(path);
    let isLocked = false;
    try {
      isLocked = await file.tryLock(true) && await isStillThere(file, path);
      return isLocked ? file : undefined;
    } finally {
      if (!isLocked) file.close();
    }
  } catch (thrown) {
    throw fileFault("lock", path, thrown);
  }
}

/** Creates the file when it is absent; never writes through a link at the path. */
async function openLockFile(path: string): Promise<Deno.FsFile> {
  try {
    return await Deno.open(path, { createNew: true, read: true, write: true, mode: 0o600 });
  } catch (thrown) {
    if (posixCode(thrown) !== "EEXIST") throw thrown;
  }
  try {
    return await Deno.open(path, { read: true });
  } catch (thrown) {
    if (posixCode(thrown) !== "ENOENT") throw thrown;
    // The file was removed meanwhile (the caller retries), or is a dangling link (refused).
    const info = await Deno.lstat(path).catch(() => undefined);
    if (info?.isSymlink === true) throw linkFault(path);
    return await openLockFile(path);
  }
}

/**
 * Tells whether the path still names the locked file. A lock on a removed or replaced file excludes
 * no one.
 */
async function isStillThere(file: Deno.FsFile, path: string): Promise<boolean> {
  const held = await file.stat();
  const now = await Deno.lstat(path).catch(() => undefined);
  if (now?.isSymlink === true) throw linkFault(path);
  return now !== undefined && now.ino === held.ino && now.dev === held.dev;
}

function linkFault(path: string): FileFault {
  return new FileFault(
    "ELOOP",
    path,
    `Cannot lock ${JSON.stringify(path)}: it is a symbolic link, must be a file`,
  );
}
