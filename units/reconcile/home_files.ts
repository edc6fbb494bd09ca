/**
 * Files in an agent's home, read and written with that agent's rights. As root under `/` a path in
 * a home is the agent's to bend: a link in place of `~/.runtime-b` would make root read or write
 * elsewhere. So a helper with the agent's effective uid does it (`units/reconcile/home_helper.ts`).
 * Under another root everything belongs to one user, and the plain port does.
 *
 * @module
 */

import type { Files } from "core/ports/files.ts";
import type { User } from "core/ports/users.ts";

/** What a reconcile does inside a home. */
export interface HomeFiles {
  /** Undefined when there is no such file. */
  read(path: string): Promise<{ readonly text: string; readonly mode: number } | undefined>;
  /** Writes atomically, creating folders 0700. */
  write(path: string, text: string, mode: number): Promise<void>;
  /** Mode of a folder, or undefined when there is none. */
  folderMode(path: string): Promise<number | undefined>;
  ensureFolder(path: string, mode: number): Promise<void>;
  /** Whether there is a folder with something in it. */
  isFilled(path: string): Promise<boolean>;
}

/** The homes of agents with accounts of their own, for the time of one verb. */
export interface Homes {
  /** The home of an agent: `folder` is its path, and root owns the folder that it is in. */
  of(user: User, folder: string): HomeFiles;
  close(): Promise<void>;
}

/** Works on a home with this process's own rights. */
export function ownHomeFiles(files: Files): HomeFiles {
  return {
    read: async (path) => {
      const text = await files.readText(path);
      const stat = await files.stat(path);
      return text === undefined || stat === undefined ? undefined : { text, mode: stat.mode };
    },
    write: async (path, text, mode) => {
      await ensurePrivate(files, path.slice(0, path.lastIndexOf("/")));
      await files.write(path, text, { mode });
    },
    folderMode: async (path) => {
      const stat = await files.stat(path);
      return stat?.kind === "directory" ? stat.mode : undefined;
    },
    ensureFolder: async (path, mode) => {
      await ensurePrivate(files, path);
      await files.ensureDir(path, { mode });
    },
    isFilled: async (path) => {
      const stat = await files.stat(path);
      return stat?.kind === "directory" && (await files.list(path)).length > 0;
    },
  };
}

/**
 * Makes each missing folder of a path 0700; `Files.ensureDir` sets the mode of the last one only.
 */
async function ensurePrivate(files: Files, path: string): Promise<void> {
  if (path === "" || await files.stat(path) !== undefined) return;
  await ensurePrivate(files, path.slice(0, path.lastIndexOf("/")));
  await files.ensureDir(path, { mode: 0o700 });
}
