/**
 * A view of the ledger's files as they would be after a pending change, for rules about the
 * resulting state. Falls back to the files on disk; writes nothing.
 *
 * @module
 */

import type { ComputedFile } from "core/ledger/stage.ts";
import type { Files } from "core/ports/files.ts";

/** The file operations that readers of the ledger and the catalog need. */
export type FileReader = Pick<Files, "list" | "readText" | "stat">;

/** Returns a view of `files` in which the computed texts replace those on disk. */
export function overlaid(files: FileReader, computed: readonly ComputedFile[]): FileReader {
  const texts = new Map(computed.map((file) => [file.path, file]));
  return {
    readText: async (path) => {
      const file = texts.get(path);
      return file === undefined ? await files.readText(path) : file.text;
    },
    stat: async (path) => {
      const file = texts.get(path);
      if (file !== undefined && file.text === undefined) return undefined;
      const found = await files.stat(path);
      if (found !== undefined) return found;
      const isAbove = [...texts].some(([each, { text }]) =>
        text !== undefined && each.startsWith(`${path}/`)
      );
      if (file === undefined && !isAbove) return undefined;
      const kind = file === undefined ? "directory" : "file";
      const size = file?.text?.length ?? 0;
      const times = { mtimeMs: 0, ctimeMs: 0 };
      return { kind, mode: file?.mode ?? 0o755, uid: 0, gid: 0, size, ...times, dev: 0, ino: 0 };
    },
    list: async (path) => {
      const names = new Set(await files.list(path));
      for (const [each, { text }] of texts) {
        if (!each.startsWith(`${path}/`)) continue;
        const [name = "", ...below] = each.slice(path.length + 1).split("/");
        if (text !== undefined) names.add(name);
        else if (below.length === 0) names.delete(name);
      }
      return [...names].sort();
    },
  };
}
