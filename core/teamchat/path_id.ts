/**
 * Ids of the chat platform that become a part of an address. Pure.
 *
 * @module
 */

/**
 * Tells whether an id can be one segment of a path: half a surrogate pair has no encoding, and what
 * stands for a folder is folded away by whoever reads the path.
 */
export function isPathId(id: string): boolean {
  return id !== "" && id !== "." && id !== ".." && id.isWellFormed();
}
