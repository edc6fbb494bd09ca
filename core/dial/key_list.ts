/**
 * The enrolled dial keys as `apply` rendered them from the ledger (`dial-keys.json`). Reads only.
 *
 * What decides about access is never older than the question: each question looks at the file, and
 * those that come together share one look, which begins after all of them. The content is read
 * again unless the look finds the very file that was read (device, inode, size, times) and it had
 * been left alone for a while by then: a file that was changed a moment ago may be changed once
 * more without a trace, since times are coarse and inodes are used again.
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

/** Asking the file; all reject when it cannot be used. */
export interface KeyList {
  /**
   * Keys of an agent, empty when all were revoked; undefined for one that the file does not name.
   */
  listed(agent: string): Promise<readonly string[] | undefined>;
  /** All agents that the file names. */
  agents(): Promise<ReadonlySet<string>>;
  /** Counts the times that the content was found changed; keys of a damaged file are nobody's. */
  generation(): Promise<number>;
}

type Keys = ReadonlyMap<string, readonly string[]>;

interface KeyFile {
  readonly keys: Keys;
  /** Undefined where there was no file. */
  readonly text: string | undefined;
  /** What the file was when it was read; undefined when that cannot be told apart from a change. */
  readonly version: string | undefined;
  readonly generation: number;
}

/** Opens the list; nothing is read until somebody asks. */
export function openKeyList(
  files: Pick<Files, "readText" | "stat">,
  path: string,
  clock: Pick<Clock, "now">,
): KeyList {
  let last: KeyFile | undefined;
  let underWay: Promise<KeyFile> | undefined;
  let next: Promise<KeyFile> | undefined;

  async function lookNow(): Promise<KeyFile> {
    const stat = await files.stat(path);
    const version = fileVersion(stat, clock.now(), DIAL_LIMITS.keyFileSettledMs);
    if (last !== undefined && version !== undefined && last.version === version) return last;
    const text = stat === undefined ? undefined : await files.readText(path);
    last = last !== undefined && last.text === text
      ? { ...last, version }
      : { keys: readKeys(text), text, version, generation: (last?.generation ?? 0) + 1 };
    return last;
  }

  /** A look that is under way may have begun before a change: it serves nobody who asks now. */
  function look(): Promise<KeyFile> {
    next ??= (async () => {
      await Promise.allSettled([underWay]);
      next = undefined;
      underWay = lookNow();
      return await underWay;
    })();
    return next;
  }
  return {
    listed: async (agent) => (await look()).keys.get(agent),
    agents: async () => new Set((await look()).keys.keys()),
    generation: async () => (await look()).generation,
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
