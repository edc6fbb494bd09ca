/**
 * A desired file of a renderer: path, text, mode and owner. No I/O.
 *
 * @module
 */

/**
 * Owner by name. The executor resolves it to ids; it is ignored unless the executor runs as root.
 */
export interface FileOwner {
  readonly user: string;
  readonly group: string;
}

/** Owner by number. */
export interface OwnerIds {
  readonly uid: number;
  readonly gid: number;
}

/**
 * One desired file. `secret` files are never printed; a diff shows only the names of their keys.
 */
export interface RenderedFile {
  readonly path: string;
  readonly content: string;
  readonly mode: number;
  readonly owner: FileOwner;
  readonly secret: boolean;
}

/** Owner `root:root`. */
export const ROOT_OWNER: FileOwner = { user: "root", group: "root" };
