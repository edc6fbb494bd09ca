/**
 * Ids of the chat platform that become part of a URL. Pure.
 *
 * @module
 */

/**
 * Tells whether an id can be one path segment. An unpaired surrogate has no encoding, and URL
 * parsers remove `.` and `..`.
 */
export function isPathId(id: string): boolean {
  return id !== "" && id !== "." && id !== ".." && id.isWellFormed();
}
