/**
 * The processes that a child started and that still run. Reads `/proc` through the C library.
 *
 * @module
 */

import { LIBC_PATHS, openLibc } from "core/os/libc.ts";
import { createProcReader, findMembers, readTable } from "core/os/proc.ts";
import type { FamilyMember } from "core/ports/processes.ts";

/**
 * Returns the other members of the group that a process leads, and its descendants; undefined when
 * the permission set does not name the C library, or `/proc` cannot be read.
 */
export function readFamily(leader: number): readonly FamilyMember[] | undefined {
  const path = LIBC_PATHS[Deno.build.arch];
  if (Deno.permissions.querySync({ name: "ffi", path }).state !== "granted") return undefined;
  const libc = openLibc();
  try {
    const proc = createProcReader(libc);
    const table = readTable(proc);
    if (table.length === 0) return undefined;
    return findMembers(table, new Set([leader]), new Set())
      .filter(({ pid }) => pid !== leader)
      .map(({ pid, parent, start }) => {
        const line = proc.readProc(`/proc/${pid}/cmdline`) ?? "";
        return { pid, parent, start, args: line.split("\0").slice(0, -1) };
      });
  } finally {
    libc.close();
  }
}
