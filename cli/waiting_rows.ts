/**
 * Counts pending rows in a role's database; works while the role runs.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";

/** Returns the number of rows that a query finds; 0 if the database or table does not exist. */
export async function countRows(
  { ports: { files, databases } }: VerbContext,
  path: string,
  from: { readonly table: string; readonly where: string },
): Promise<number> {
  if (await files.stat(path) === undefined) return 0;
  const database = await databases.open(path);
  try {
    const known = database.prepare("select 1 from sqlite_master where type = 'table' and name = ?");
    if (known.get(from.table) === undefined) return 0;
    const counted = database.prepare(`select count(*) n from ${from.table} where ${from.where}`);
    return Number(counted.get()?.n ?? 0);
  } finally {
    database.close();
  }
}
