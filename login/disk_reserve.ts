/**
 * A file that reserves disk space, so that a logout can be stored on a full disk. It is deleted
 * when the disk is full, and written again when there is space.
 *
 * @module
 */

import type { FileFault, Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import type { Result } from "core/result.ts";
import { errorText } from "core/errors.ts";

/** Bytes of the file. SQLite needs at most some tens of KiB to store a few logouts. */
const RESERVE_BYTES = 1024 * 1024;
const RESERVE_MODE = 0o600;

/** The reserve of one store. */
export interface DiskReserve {
  /** Creates the file if it is missing. A full disk is logged once and is not a fault. */
  fill(): Promise<void>;
  /** Deletes the file; false if there is none. */
  release(): Promise<boolean>;
  /** Runs `work`; on a full disk deletes the reserve and runs it again. */
  retry<T>(work: () => Result<T> | Promise<Result<T>>): Promise<Result<T>>;
}

/** Creates the reserve at `path`; accesses no file yet. */
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
    log.warning("disk full: deleted the reserve", { path });
    return true;
  };
  return {
    fill: async () => {
      try {
        if (await files.stat(path) !== undefined) return;
        await files.write(path, noise(), { mode: RESERVE_MODE });
        isWarned = false;
      } catch (thrown) {
        if (!isWarned) log.warning("no space for the reserve", { path, error: errorText(thrown) });
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

/** Incompressible bytes, so that a compressing file system stores all of them. */
function noise(): Uint8Array {
  const words = new Uint32Array(RESERVE_BYTES / Uint32Array.BYTES_PER_ELEMENT);
  let word = 1;
  for (let index = 0; index < words.length; index++) {
    // Marsaglia's xorshift; the bytes are not secret.
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    words[index] = word;
  }
  return new Uint8Array(words.buffer);
}

/** Opens a store; on a full disk deletes the reserve and opens it again. */
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
