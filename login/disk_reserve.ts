/**
 * A file that only takes up room, so that the end of something can still be stored on a full disk:
 * it is given up first, and made again once there is room.
 *
 * @module
 */

import type { FileFault, Files, Log } from "core/ports.ts";
import type { Result } from "core/result.ts";
import { errorText } from "core/errors.ts";

/** Bytes of the file. SQLite needs at most some tens of KiB to record a few ends. */
export const RESERVE_BYTES = 1024 * 1024;
const RESERVE_MODE = 0o600;

/** The reserve of one store. */
export interface DiskReserve {
  /** Makes the file where it is missing; a disk without room for it is logged once and no fault. */
  fill(): Promise<void>;
  /** Removes the file; false when there was none. */
  release(): Promise<boolean>;
  /** Runs `work`, and once more after giving up the reserve when the disk was full. */
  retry<T>(work: () => Result<T> | Promise<Result<T>>): Promise<Result<T>>;
}

/** Creates the reserve at `path`; touches nothing yet. */
export function createDiskReserve(
  path: string,
  ports: {
    readonly files: Pick<Files, "stat" | "write" | "remove">;
    readonly log: Log;
  },
): DiskReserve {
  const { files, log } = ports;
  let isWarned = false;
  const release = async () => {
    if (await files.stat(path) === undefined) return false;
    await files.remove(path);
    log.warning("disk full: the reserve is given up", { path });
    return true;
  };
  return {
    fill: async () => {
      try {
        if (await files.stat(path) !== undefined) return;
        await files.write(path, noise(), { mode: RESERVE_MODE });
        isWarned = false;
      } catch (thrown) {
        if (!isWarned) log.warning("no room for the reserve", { path, error: errorText(thrown) });
        isWarned = true;
      }
    },
    release,
    retry: async (work) => {
      const done = await work();
      if (done.ok || done.error.code !== "storage-full" || !await release()) return done;
      return await work();
    },
  };
}

/** Bytes without a pattern, so that a file system that compresses stores all of them. */
function noise(): Uint8Array {
  const words = new Uint32Array(RESERVE_BYTES / Uint32Array.BYTES_PER_ELEMENT);
  let word = 1;
  for (let index = 0; index < words.length; index++) {
    // Marsaglia's xorshift: nothing here is a secret.
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    words[index] = word;
  }
  return new Uint8Array(words.buffer);
}

/** Opens a store, and once more after giving up the reserve when the disk was full. */
export async function openWithReserve<T>(
  reserve: DiskReserve,
  open: () => Promise<T>,
): Promise<T> {
  try {
    return await open();
  } catch (thrown) {
    if ((thrown as FileFault).code !== "ENOSPC" || !await reserve.release()) throw thrown;
    return await open();
  }
}
