/**
 * Databases on a disk that may be full or broken: no transaction begins while it is full, nothing
 * is read while it is broken.
 *
 * @module
 */

import type { Databases } from "core/ports/databases.ts";
import { FileFault } from "core/ports/files.ts";

/** What may happen to a disk. */
export interface DiskFaults {
  /** Whether its databases take nothing from now on, as on a full disk. */
  fill(isFull: boolean): void;
  /** Whether its databases read no rows from now on, as on a broken disk. */
  spoil(isSpoilt: boolean): void;
}

/** Puts `databases` on such a disk, which is well at first. */
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
