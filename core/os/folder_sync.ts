/**
 * Makes renames in a folder survive a power cut. Many files that are written at once into one
 * folder share the call: one that begins after a rename covers that rename, whoever asked for it.
 *
 * @module
 */

interface Sync {
  readonly running: Promise<void>;
  /** Begins when `running` has ended, for those who came after that one began. */
  next?: Promise<void>;
}

const syncs = new Map<string, Sync>();

/** Resolves when every rename in the folder that came before this call is on the disk. */
export function syncFolder(path: string): Promise<void> {
  const found = syncs.get(path);
  if (found === undefined) return begin(path);
  // It may have begun before our rename, so the one after it counts.
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
