/**
 * Which dial keys count: those of the ledger, rendered to a file, and first keys that were proven
 * here and have not reached it yet. Where the file names an agent it alone decides, so that what
 * the ledger revoked cannot live on in this gateway's own book.
 *
 * | File says of an agent | Counts |
 * |---|---|
 * | nothing, or there is no file | the first key that was proven here, if any |
 * | a list of keys | these |
 * | an empty list: all were revoked | none, and nobody registers as this agent |
 *
 * @module
 */

import { openKeyList } from "core/dial/key_list.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { ok, type Result } from "core/result.ts";
import type { KeyBook } from "gateway/transcript/event_log.ts";

/** A key of an agent. */
export interface AgentKey {
  readonly agent: string;
  readonly key: string;
}

/** Asking for and enrolling keys. All but `enroll` reject when the file cannot be used. */
export interface DialKeys {
  /** Keys that count; undefined for an agent that never had one. */
  enrolled(agent: string): Promise<readonly string[] | undefined>;
  /** Counts the times that the file was found replaced; keys of a damaged file are nobody's. */
  generation(): Promise<number>;
  /** Stores the first key of an agent; false when another one was faster. */
  enroll(agent: string, key: string): Promise<Result<boolean>>;
  /** Keys that were enrolled here and are not in the ledger. */
  pending(): Promise<readonly AgentKey[]>;
}

/** What the keys are made of. */
export interface DialKeyParts {
  readonly files: Pick<Files, "readText" | "stat">;
  readonly path: string;
  readonly book: KeyBook;
  /** Told that a key waits for the ledger. */
  readonly onPending: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Opens the keys. */
export function openDialKeys(parts: DialKeyParts): DialKeys {
  const { files, path, book, clock, log } = parts;
  const list = openKeyList(files, path, clock);

  return {
    enrolled: async (agent) => {
      const listed = await list.listed(agent);
      if (listed !== undefined) return listed;
      const own = await book.keyOf(agent);
      return own === undefined ? undefined : [own];
    },
    generation: () => list.generation(),
    enroll: async (agent, key) => {
      const stored = await book.addFirst({ agent, key }, clock.now());
      if (!stored.ok || !stored.value) return stored;
      log.info("dial key enrolled", { agent, key });
      parts.onPending();
      return ok(true);
    },
    pending: async () => {
      const listed = await list.agents();
      const all = await book.all();
      const waiting = all.filter(({ agent }) => !listed.has(agent));
      for (const one of all) if (!waiting.includes(one)) await book.drop(one);
      return waiting;
    },
  };
}
