/**
 * Decides which dial keys are valid: keys of the ledger, rendered to a file, and first keys proven
 * here that are not in the ledger yet. When the file names an agent, only the file counts, so a
 * key that the ledger revoked cannot stay valid in this gateway's database.
 *
 * | File's entry for an agent | Valid keys |
 * |---|---|
 * | none, or there is no file | the first key that was proven here, if any |
 * | a list of keys | these |
 * | an empty list: all were revoked | none; the agent cannot register |
 *
 * @module
 */

import { openKeyList } from "core/dial/key_list.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { ok, type Result } from "core/result.ts";
import type { KeyStore } from "gateway/transcript/event_log.ts";

/** A key of an agent. */
export interface AgentKey {
  readonly agent: string;
  readonly key: string;
}

/** Looks up and enrolls keys. All but `enroll` reject when the file is unusable. */
export interface DialKeys {
  /** Valid keys of an agent; undefined for one that never had a key. */
  enrolled(agent: string): Promise<readonly string[] | undefined>;
  /** Counts how often the file was found changed. */
  generation(): Promise<number>;
  /** Stores an agent's first key. Returns false when another key was stored first. */
  enroll(agent: string, key: string): Promise<Result<boolean>>;
  /** Keys enrolled here that are not in the ledger. */
  pending(): Promise<readonly AgentKey[]>;
}

/** Dependencies of the keys. */
export interface DialKeyDeps {
  readonly files: Pick<Files, "readText" | "stat">;
  readonly path: string;
  readonly pending: KeyStore;
  /** Called when a key waits for the ledger. */
  readonly onPending: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Opens the store of dial keys. */
export function openDialKeys(deps: DialKeyDeps): DialKeys {
  const { files, path, pending, clock, log } = deps;
  const list = openKeyList(files, path, clock);

  return {
    enrolled: async (agent) => {
      const listed = await list.listed(agent);
      if (listed !== undefined) return listed;
      const own = await pending.keyOf(agent);
      return own === undefined ? undefined : [own];
    },
    generation: () => list.generation(),
    enroll: async (agent, key) => {
      const stored = await pending.addFirst({ agent, key }, clock.now());
      if (!stored.ok || !stored.value) return stored;
      log.info("dial key enrolled", { agent, key });
      deps.onPending();
      return ok(true);
    },
    pending: async () => {
      const listed = await list.agents();
      const all = await pending.all();
      const waiting = all.filter(({ agent }) => !listed.has(agent));
      for (const one of all) if (!waiting.includes(one)) await pending.drop(one);
      return waiting;
    },
  };
}
