/**
 * The folder of the files of turns, in the agent's home below the dial unit's folder: those that
 * came with a message, and images that programs produced. Readable by the agent only. When there
 * are too many, those of the oldest turns are removed.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { fileName } from "core/teamchat/file_refs.ts";

/** The files of turns. A file is identified by its turn and its number there. */
export interface TurnFolder {
  pathOf(file: FileKey & { readonly name: string }): string;
  /** Stores a file; returns undefined when the disk refuses. */
  keep(file: FileKey & { readonly name: string }, bytes: Uint8Array): Promise<string | undefined>;
  /** Returns a file of at most `bytesMax` bytes; undefined for anything else. */
  read(path: string, bytesMax: number): Promise<Uint8Array | undefined>;
  /** Returns the path of a file; undefined when it is not kept. */
  find(file: FileKey): Promise<string | undefined>;
  /** Returns the highest number of a file of the turn; 0 without one. */
  highest(turnId: string): Promise<number>;
  /** Removes the files of a turn. */
  drop(turnId: string): Promise<void>;
}

/** A turn, and the number of a file there. */
export interface FileKey {
  readonly turnId: string;
  readonly n: number;
}

/** Turn ids are folder names, so their characters are restricted. */
const TURN_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** Opens the folder; no other code uses it. */
export function openTurnFolder(deps: {
  readonly files: Files;
  readonly folder: string;
  readonly log: Log;
}): TurnFolder {
  const { files, folder, log } = deps;
  const pathOf = ({ turnId, n, name }: FileKey & { readonly name: string }) =>
    `${folder}/${turnId}/${n}-${fileName(name, n)}`;

  async function bytesOf(turnId: string): Promise<number> {
    const names = await files.list(`${folder}/${turnId}`);
    const stats = await Promise.all(names.map((name) => files.stat(`${folder}/${turnId}/${name}`)));
    return stats.reduce((sum, stat) => sum + (stat?.size ?? 0), 0);
  }

  /** Removes the folders of the oldest turns. */
  async function trim(): Promise<void> {
    const dated = await Promise.all((await files.list(folder)).map(async (name) => ({
      name,
      at: (await files.stat(`${folder}/${name}`))?.mtimeMs ?? 0,
      bytes: await bytesOf(name),
    })));
    let bytes = 0;
    const newestFirst = dated.sort((a, b) => b.at - a.at);
    for (const [index, turn] of newestFirst.entries()) {
      bytes += turn.bytes;
      const isKept = index < FILE_LIMITS.turnsKept && bytes <= FILE_LIMITS.keptBytesMax;
      if (!isKept) await files.remove(`${folder}/${turn.name}`, { recursive: true });
    }
  }

  return {
    pathOf,
    keep: async (file, bytes) => {
      if (!TURN_ID.test(file.turnId)) return undefined;
      try {
        const own = `${folder}/${file.turnId}`;
        const isNew = await files.stat(own) === undefined;
        await files.ensureDir(own, { mode: 0o700 });
        if (isNew) await trim();
        await files.write(pathOf(file), bytes, { mode: 0o600 });
        return pathOf(file);
      } catch (thrown) {
        log.error("file not kept", { turn: file.turnId, error: errorText(thrown) });
        return undefined;
      }
    },
    read: async (path, bytesMax) => {
      try {
        const stat = await files.stat(path);
        if (stat?.kind !== "file" || stat.size > bytesMax) return undefined;
        return await files.readBytes(path);
      } catch (thrown) {
        log.warning("file not read", { error: errorText(thrown) });
        return undefined;
      }
    },
    find: async ({ turnId, n }) => {
      if (!TURN_ID.test(turnId)) return undefined;
      const name = (await files.list(`${folder}/${turnId}`)).find((one) => one.startsWith(`${n}-`));
      return name === undefined ? undefined : `${folder}/${turnId}/${name}`;
    },
    highest: async (turnId) =>
      TURN_ID.test(turnId) ? highestOf(await files.list(`${folder}/${turnId}`)) : 0,
    drop: async (turnId) => {
      if (TURN_ID.test(turnId)) await files.remove(`${folder}/${turnId}`, { recursive: true });
    },
  };
}

/** Returns the highest number with which a name begins. */
function highestOf(names: readonly string[]): number {
  return names.reduce((most, name) => Math.max(most, parseInt(name, 10) || 0), 0);
}
