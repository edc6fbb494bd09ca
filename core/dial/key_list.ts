/**
 * The enrolled dial keys as `apply` rendered them from the ledger (`dial-keys.json`). Reads only.
 *
 * An access decision must never use data older than the query. So each query checks the file.
 * Concurrent queries share one check, which begins after all of them. The content is read again
 * unless the file is unchanged (device, inode, size, times) and was already settled when it was
 * read. A file that was changed a moment ago may change again undetected, because timestamps are
 * coarse and inodes are reused.
 *
 * @module
 */

import { isPublicKey } from "core/dial/proof.ts";
import { errorText } from "core/errors.ts";
import { fileVersion } from "core/files/file_stat.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import { isRecord } from "core/text/json_object.ts";

/** Queries of the key file; all reject if it cannot be used. */
export interface KeyList {
  /**
   * Returns the keys of an agent, empty if all were revoked; undefined if the file does not name
   * it.
   */
  listed(agent: string): Promise<readonly string[] | undefined>;
  /** Returns all agents that the file names. */
  agents(): Promise<ReadonlySet<string>>;
  /** Counts how often the content was found changed. Rejects while the file is damaged. */
  generation(): Promise<number>;
}

type Keys = ReadonlyMap<string, readonly string[]>;

interface KeyFile {
  readonly keys: Keys;
  /** Undefined if there was no file. */
  readonly text: string | undefined;
  /** Identity of the file when it was read; undefined if a later change might go undetected. */
  readonly version: string | undefined;
  readonly generation: number;
}

/** Creates the list; reads nothing before the first query. */
export function openKeyList(
  files: Pick<Files, "readText" | "stat">,
  path: string,
  clock: Pick<Clock, "now">,
): KeyList {
  let last: KeyFile | undefined;
  let running: Promise<KeyFile> | undefined;
  let next: Promise<KeyFile> | undefined;

  async function checkNow(): Promise<KeyFile> {
    const stat = await files.stat(path);
    const version = fileVersion(stat, clock.now(), DIAL_LIMITS.keyFileSettledMs);
    if (last !== undefined && version !== undefined && last.version === version) return last;
    const text = stat === undefined ? undefined : await files.readText(path);
    last = last !== undefined && last.text === text
      ? { ...last, version }
      : { keys: readKeys(text), text, version, generation: (last?.generation ?? 0) + 1 };
    return last;
  }

  /**
   * Shares the next check. A running one may have begun before a change, so no new query uses it.
   */
  function check(): Promise<KeyFile> {
    next ??= (async () => {
      await Promise.allSettled([running]);
      next = undefined;
      running = checkNow();
      return await running;
    })();
    return next;
  }
  return {
    listed: async (agent) => (await check()).keys.get(agent),
    agents: async () => new Set((await check()).keys.keys()),
    generation: async () => (await check()).generation,
  };
}

function readKeys(text: string | undefined): Keys {
  if (text === undefined) return new Map();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    throw new Error(`the file of dial keys is damaged: ${errorText(thrown)}`);
  }
  if (!isRecord(value)) {
    throw new Error("the file of dial keys is damaged: must be an object of agents to keys");
  }
  return new Map(
    Object.entries(value).map(([agent, keys]) => {
      const isList = Array.isArray(keys) &&
        keys.every((key) => typeof key === "string" && isPublicKey(key));
      if (!isList) throw new Error(`the file of dial keys is damaged at "${agent}"`);
      return [agent, keys as readonly string[]];
    }),
  );
}
