/**
 * Databases on a disk that a test can make full or broken. On a full disk no transaction begins; on
 * a broken disk no read succeeds.
 *
 * @module
 */

import type { Databases } from "core/ports/databases.ts";
import { FileFault } from "core/ports/files.ts";

/** Switches for the faults of a disk. */
export interface DiskFaults {
  /** Sets whether the databases refuse every write, as on a full disk. */
  fill(isFull: boolean): void;
  /** Sets whether the databases fail every read, as on a broken disk. */
  spoil(isSpoilt: boolean): void;
}

/** Wraps `databases` with a disk that can fail; it starts without faults. */
export function faultyDisk(databases: Databases): DiskFaults & { readonly databases: Databases } {
  let [isFull, isSpoilt] = [false, false];
  const open: Databases["open"] = async (path) => {
    const db = await databases.open(path);
    const transaction: typeof db.transaction = (work) => {
      if (isFull) throw new FileFault("ENOSPC", path, "no space left on the disk");
      return db.transaction(work);
    };
    const prepare: typeof db.prepare = (sql) => {
      const prepared = db.prepare(sql);
      const all: typeof prepared.all = (...values) => {
        if (isSpoilt) throw new FileFault("EIO", path, "disk I/O error");
        return prepared.all(...values);
      };
      return { ...prepared, all };
    };
    return { ...db, transaction, prepare };
  };
  return {
    databases: { open },
    fill: (full) => {
      isFull = full;
    },
    spoil: (spoilt) => {
      isSpoilt = spoilt;
    },
  };
}
