/**
 * The kind of a path in words. No I/O.
 *
 * @module
 */

import type { FileStat } from "core/files/file_stat.ts";

const TEXTS: Readonly<Record<FileStat["kind"], string>> = {
  file: "a regular file",
  directory: "a folder",
  symlink: "a link",
  other: "a device, pipe or socket",
};

/** Returns the kind with its article: `a folder`. */
export function fileKindText(kind: FileStat["kind"]): string {
  return TEXTS[kind];
}
