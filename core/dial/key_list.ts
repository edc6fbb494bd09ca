/**
 * The enrolled dial keys as `apply` rendered them from the ledger (`dial-keys.json`). Reads only.
 *
 * @module
 */

import { isPublicKey } from "core/dial/proof.ts";
import { errorText } from "core/errors.ts";
import type { Files } from "core/ports.ts";

/** Asking the file; both reject when it cannot be used. */
export interface KeyList {
  /** Keys of an agent, empty when all were revoked; undefined for one that the file does not name. */
  listed(agent: string): Promise<readonly string[] | undefined>;
  /** All agents that the file names; may be as old as the last look at the file's time. */
  agents(): Promise<ReadonlySet<string>>;
  /** Counts the times that the file was found replaced; keys of a damaged file are nobody's. */
  generation(): Promise<number>;
}

interface KeyFile {
  readonly keys: ReadonlyMap<string, readonly string[]>;
  readonly version: string;
  readonly generation: number;
}

/** Opens the list; nothing is read until somebody asks. */
export function openKeyList(files: Pick<Files, "readText" | "stat">, path: string): KeyList {
  let last: KeyFile | undefined;

  async function look(mayBeKept: boolean): Promise<KeyFile> {
    const stat = await files.stat(path);
    const version = stat === undefined ? "absent" : `${stat.mtimeMs} ${stat.size}`;
    if (mayBeKept && last?.version === version) return last;
    const keys = stat === undefined ? new Map() : await readKeyFile(files, path);
    const seen = last?.generation ?? 0;
    last = { keys, version, generation: last?.version === version ? seen : seen + 1 };
    return last;
  }
  return {
    // Read at each registration: what decides about access is never a kept copy.
    listed: async (agent) => (await look(false)).keys.get(agent),
    agents: async () => new Set((await look(true)).keys.keys()),
    generation: async () => (await look(true)).generation,
  };
}

async function readKeyFile(
  files: Pick<Files, "readText">,
  path: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const text = await files.readText(path);
  if (text === undefined) return new Map();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    throw new Error(`the file of dial keys is damaged: ${errorText(thrown)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
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
