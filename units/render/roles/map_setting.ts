/**
 * A map of the ledger as the value of a setting: in the environment file if it fits there,
 * otherwise in a separate file, whose path is then the value (`core/settings/setting_files.ts`). No
 * I/O.
 *
 * @module
 */

import type { RenderedFile } from "core/files/rendered_file.ts";

/** Longest value in the environment; the kernel accepts 128 KiB for one variable. */
const VALUE_LENGTH_MAX = 96 * 1024;

/** A value, and the file that it refers to. */
export interface MapSetting {
  readonly value: string;
  readonly files: readonly RenderedFile[];
}

/** Decides where a map is stored; `at` is the path of its file. */
export function mapSetting(
  text: string,
  at: Pick<RenderedFile, "path" | "mode" | "owner">,
): MapSetting {
  if (text.length <= VALUE_LENGTH_MAX) return { value: text, files: [] };
  return { value: at.path, files: [{ ...at, content: `${text}\n`, secret: false }] };
}
