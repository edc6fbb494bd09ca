/**
 * Sets mode and owner of a file or folder through a descriptor, and only if it still is the one
 * that was looked at: nobody who may write to the folder can swap it for a link in between.
 * Loads `node:fs` when it is needed, because that takes 20 ms, which a program that only reads
 * must not pay; with the usual umask and no foreign owner, writers do not need it either.
 *
 * @module
 */

import { FileFault, type WriteOptions } from "core/ports/files.ts";

const PERMISSION_BITS = 0o7777;

/** What says which file it is. */
export type Identity = Pick<Deno.FileInfo, "dev" | "ino">;

/** Says whether two looks saw the same file. */
export function isSame(one: Identity, other: Identity): boolean {
  return one.dev === other.dev && one.ino === other.ino && one.ino !== null;
}

/** Returns the permission bits. */
export function permissionBits(info: Pick<Deno.FileInfo, "mode">): number {
  return (info.mode ?? 0) & PERMISSION_BITS;
}

/** Gives a file or folder the mode and owner asked for, if it does not have them. */
export async function setMeta(
  path: string,
  seen: Deno.FileInfo,
  wanted: WriteOptions,
): Promise<void> {
  const uid = wanted.uid ?? seen.uid ?? 0;
  const gid = wanted.gid ?? seen.gid ?? 0;
  const mode = wanted.mode ?? permissionBits(seen);
  const isOwned = uid === seen.uid && gid === seen.gid;
  if (isOwned && mode === permissionBits(seen)) return;
  const { default: fs } = await import("node:fs");
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants;
  const fd = fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const { dev, ino } = fs.fstatSync(fd);
    if (!isSame(seen, { dev, ino })) {
      throw new FileFault(
        "EIO",
        path,
        `Cannot set the mode of ${JSON.stringify(path)}: another file has taken its place`,
      );
    }
    if (!isOwned) fs.fchownSync(fd, uid, gid);
    // After the owner, because changing the owner clears set-id bits.
    fs.fchmodSync(fd, mode);
  } finally {
    fs.closeSync(fd);
  }
}
