/**
 * Reads and writes files in an agent's home with that agent's rights. When root works under `/`,
 * the agent controls every path in its home: a link in place of `~/.runtime-b` would make root read
 * or write elsewhere. A helper with the agent's effective uid does the work instead
 * (`units/reconcile/home_helper.ts`). Under another root everything belongs to one user, so the
 * plain port is used.
 *
 * @module
 */

import type { Files } from "core/ports/files.ts";
import type { User } from "core/ports/users.ts";

/** File operations of a reconcile inside a home. */
export interface HomeFiles {
  /** Undefined when the file does not exist. */
  read(path: string): Promise<{ readonly text: string; readonly mode: number } | undefined>;
  /** Writes atomically, and creates missing folders with mode 0700. */
  write(path: string, text: string, mode: number): Promise<void>;
  /** Mode of a folder, or undefined when it does not exist. */
  folderMode(path: string): Promise<number | undefined>;
  ensureFolder(path: string, mode: number): Promise<void>;
  /** Whether the folder exists and is not empty. */
  isFilled(path: string): Promise<boolean>;
}

/** The homes of agents with their own accounts, for the duration of one verb. */
export interface Homes {
  /** The home of an agent: `folder` is its path, whose parent folder belongs to root. */
  of(user: User, folder: string): HomeFiles;
  close(): Promise<void>;
}

/** Accesses a home with this process's own rights. */
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
 * Creates each missing folder of a path with mode 0700; `Files.ensureDir` sets only the last mode.
 */
async function ensurePrivate(files: Files, path: string): Promise<void> {
  if (path === "" || await files.stat(path) !== undefined) return;
  await ensurePrivate(files, path.slice(0, path.lastIndexOf("/")));
  await files.ensureDir(path, { mode: 0o700 });
}
