/**
 * Homes in memory: the plain port, and a record of each request with its uid.
 *
 * @module
 */

import { FileFault, type Files } from "core/ports/files.ts";
import { type Homes, ownHomeFiles } from "units/reconcile/home_files.ts";

/** Opens homes on these files; `onAsk` receives each request and may make it fail. */
export function memoryHomes(
  files: Files,
  onAsk: (uid: number, operation: string, path: string) => void = () => {},
): Homes {
  const own = ownHomeFiles(files);
  return {
    of: ({ uid }) => ({
      read: async (path) => (onAsk(uid, "read", path), await own.read(path)),
      write: async (path, text, mode) => (
        onAsk(uid, "write", path), await own.write(path, text, mode)
      ),
      folderMode: async (path) => (onAsk(uid, "mode", path), await own.folderMode(path)),
      ensureFolder: async (path, mode) => (
        onAsk(uid, "folder", path), await own.ensureFolder(path, mode)
      ),
      isFilled: async (path) => (onAsk(uid, "is-filled", path), await own.isFilled(path)),
    }),
    close: async () => {},
  };
}

/** Refuses every change to a home, like a home that its owner cannot write. */
export function unwritable(_uid: number, operation: string, path: string): void {
  if (operation === "write" || operation === "folder") {
    throw new FileFault("EACCES", path, "Permission denied");
  }
}
