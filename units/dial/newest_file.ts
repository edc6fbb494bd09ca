/**
 * A small file that contains the newest of many texts. A text that arrives during a write is
 * written next. A failed write is logged and has no other effect.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";

/** Writes the newest text. */
export interface NewestFile {
  /** Schedules a write of `text`; a later text replaces one that is still waiting. */
  write(text: string): void;
  /** Resolves when the last text given to `write` is written. */
  settled(): Promise<void>;
}

/** Creates the writer; the folder of `path` must exist. */
export function createNewestFile(
  deps: { readonly files: Pick<Files, "write">; readonly log: Log; readonly path: string },
): NewestFile {
  const { files, log, path } = deps;
  let next: string | undefined;
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    while (next !== undefined) {
      const text = next;
      next = undefined;
      try {
        await files.write(path, text, { mode: 0o600 });
      } catch (thrown) {
        log.warning("file not written", { path, error: errorText(thrown) });
      }
    }
    writing = undefined;
  }

  return {
    write(text) {
      next = text;
      writing ??= writeAll();
    },
    settled: async () => await writing,
  };
}
