/**
 * Sets mode and owner of a file or folder through a descriptor, and only if it still is the file
 * that was checked. So no one with write access to the folder can swap in a link. Loads `node:fs`
 * on demand: that takes 20 ms, which a program that only reads must not pay. With the usual umask
 * and no change of owner, writers do not need it either.
 *
 * @module
 */

import { FileFault, type WriteOptions } from "core/ports/files.ts";

const PERMISSION_BITS = 0o7777;

/** The device and inode that identify a file. */
export type Identity = Pick<Deno.FileInfo, "dev" | "ino">;

/** Tells whether both describe the same file. */
export function isSame(one: Identity, other: Identity): boolean {
  return one.dev === other.dev && one.ino === other.ino && one.ino !== null;
}

/** Returns the permission bits. */
export function permissionBits(info: Pick<Deno.FileInfo, "mode">): number {
  return (info.mode ?? 0) & PERMISSION_BITS;
}

/** Sets the requested mode and owner on a file or folder, if they differ. */
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
        `Cannot set the mode of ${JSON.stringify(path)}: another file has replaced it`,
      );
    }
    if (!isOwned) fs.fchownSync(fd, uid, gid);
    // After the owner, because changing the owner clears set-id bits.
    fs.fchmodSync(fd, mode);
  } finally {
    fs.closeSync(fd);
  }
}
