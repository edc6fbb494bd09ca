/**
 * In-memory databases that keep their content when they are opened again.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import type { Databases } from "core/ports/databases.ts";
import { createDatabase } from "core/os/sqlite.ts";

/** Creates an empty set of databases. `dispose` frees them. */
export function memoryDatabases(): Databases & { dispose(): void } {
  const kept = new Map<string, DatabaseSync>();
  return {
    open: (path) => {
      let db = kept.get(path);
      if (db === undefined) {
        db = new DatabaseSync(":memory:", { enableForeignKeyConstraints: true });
        kept.set(path, db);
      }
      return Promise.resolve({ ...createDatabase(path, db), close: () => {} });
    },
    dispose: () => {
      for (const db of kept.values()) db.close();
      kept.clear();
    },
  };
}
