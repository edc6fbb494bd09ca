/**
 * A file as a renderer wants it on disk: path, text, mode and owner. No I/O.
 *
 * @module
 */

/** Owner by name; resolved to ids by the executor, and left alone when not running as root. */
export interface FileOwner {
  readonly user: string;
  readonly group: string;
}

/** Owner by number. */
export interface OwnerIds {
  readonly uid: number;
  readonly gid: number;
}

/** One desired file. `secret` files are never printed: a diff shows the names of their keys. */
export interface RenderedFile {
  readonly path: string;
  readonly content: string;
  readonly mode: number;
  readonly owner: FileOwner;
  readonly secret: boolean;
}

/** Owner `root:root`. */
export const ROOT_OWNER: FileOwner = { user: "root", group: "root" };
