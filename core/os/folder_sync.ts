/**
 * Makes renames in a folder survive a power cut. Concurrent writers in one folder share the fsync:
 * one that begins after a rename covers that rename, whichever caller started it.
 *
 * @module
 */

interface Sync {
  readonly running: Promise<void>;
  /** Begins when `running` has ended; for callers that arrived after `running` began. */
  next?: Promise<void>;
}

const syncs = new Map<string, Sync>();

/** Resolves when every earlier rename in the folder is on the disk. */
export function syncFolder(path: string): Promise<void> {
  const found = syncs.get(path);
  if (found === undefined) return begin(path);
  // The running sync may have begun before the caller's rename, so wait for the next one.
  return found.next ??= found.running.catch(() => {}).then(() => begin(path));
}

function begin(path: string): Promise<void> {
  const running = syncOnce(path);
  const sync: Sync = { running };
  syncs.set(path, sync);
  const end = () => {
    if (syncs.get(path) === sync && sync.next === undefined) syncs.delete(path);
  };
  running.then(end, end);
  return running;
}

async function syncOnce(path: string): Promise<void> {
  const folder = await Deno.open(path);
  try {
    await folder.sync();
  } finally {
    folder.close();
  }
}
