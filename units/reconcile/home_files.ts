/**
 * Files in an agent's home, read and written with that agent's rights. As root under `/` a path in
 * a home is the agent's to bend: a link in place of `~/.runtime-b` would make root read or write
 * elsewhere. So a child with the agent's uid does it, and the kernel decides.
 * Under another root everything belongs to one user, and the plain port does.
 *
 * @module
 */

import { FileFault, type Files, type Processes, type User } from "core/ports.ts";

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

/** Makes each missing folder of a path 0700; `Files.ensureDir` sets the mode of the last one only. */
async function ensurePrivate(files: Files, path: string): Promise<void> {
  if (path === "" || await files.stat(path) !== undefined) return;
  await ensurePrivate(files, path.slice(0, path.lastIndexOf("/")));
  await files.ensureDir(path, { mode: 0o700 });
}

const ABSENT = 3;
const READ = `[ -e "$1" ] || exit ${ABSENT}; stat -L -c %a -- "$1" && exec cat -- "$1"`;
/** The length is checked so that a writer that died in the middle leaves the old file. */
const WRITE = `set -eu; umask 077; mkdir -p -- "\${1%/*}"; t=$(mktemp -- "$1.XXXXXX")
trap 'rm -f -- "$t"' EXIT; cat > "$t"; [ "$(wc -c < "$t")" -eq "$3" ]
chmod "$2" -- "$t"; sync -- "$t"; mv -fT -- "$t" "$1"; trap - EXIT`;
const FOLDER_MODE = `[ -d "$1" ] || exit ${ABSENT}; exec stat -c %a -- "$1"`;
const FOLDER = `set -eu; umask 077; mkdir -p -- "$1"; chmod "$2" -- "$1"`;
/** The first entry is enough: there may be any number of them. */
const FIRST = `[ -d "$1" ] && [ ! -L "$1" ] || exit ${ABSENT}
exec find "$1" -mindepth 1 -maxdepth 1 -print -quit`;
const ENV = { PATH: "/usr/bin:/bin", LC_ALL: "C" } as const;
const CHILD_MS_MAX = 20_000;

/** Works on a home through short-lived children that have become its owner. */
export function agentHomeFiles(processes: Processes, user: User): HomeFiles {
  const run = async (script: string, words: readonly string[], input?: string) => {
    const path = words[0] ?? "";
    const answer = await processes.run({
      command: "/usr/bin/setpriv",
      args: [
        `--reuid=${user.uid}`,
        `--regid=${user.gid}`,
        "--init-groups",
        "--no-new-privs",
        "--",
        "/bin/sh",
        "-c",
        script,
        "sh",
        ...words,
      ],
      env: ENV,
      cwd: "/",
      timeoutMs: CHILD_MS_MAX,
      ...(input === undefined ? {} : { input }),
    });
    if (answer.code === ABSENT) return undefined;
    if (answer.code === 0 && !answer.truncated) return answer.stdout;
    const isFull = /No space left|quota exceeded/i.test(answer.stderr);
    const last = answer.stderr.trim().split("\n").at(-1) ?? "";
    throw new FileFault(isFull ? "ENOSPC" : "EACCES", path, last || "the child failed");
  };
  return {
    read: async (path) => {
      const out = await run(READ, [path]);
      if (out === undefined) return undefined;
      const newline = out.indexOf("\n");
      return { text: out.slice(newline + 1), mode: parseInt(out.slice(0, newline), 8) };
    },
    write: async (path, text, mode) => {
      const length = new TextEncoder().encode(text).length;
      await run(WRITE, [path, mode.toString(8), String(length)], text);
    },
    folderMode: async (path) => {
      const out = await run(FOLDER_MODE, [path]);
      return out === undefined ? undefined : parseInt(out, 8);
    },
    ensureFolder: async (path, mode) => {
      await run(FOLDER, [path, mode.toString(8)]);
    },
    isFilled: async (path) => (await run(FIRST, [path]) ?? "") !== "",
  };
}
