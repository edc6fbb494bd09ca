/**
 * How people call what stands at a path. No I/O.
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

/** Returns what a path is, with its article: `a folder`. */
export function fileKindText(kind: FileStat["kind"]): string {
  return TEXTS[kind];
}
