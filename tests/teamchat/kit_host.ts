/**
 * A machine whose requests reach the kit instead of a network, and whose disk may be full.
 *
 * @module
 */

import { FileFault } from "core/ports.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";
import type { KitRules } from "tests/teamchat/connector/conversation.ts";
import { type ConnectorKit, createConnectorKit } from "tests/teamchat/connector/kit.ts";

/** A machine and the platform that it reaches. */
export interface KitHost {
  readonly host: MemoryHost;
  readonly kit: ConnectorKit;
  /** Whether its databases take nothing from now on, as on a full disk. */
  fill(isFull: boolean): void;
  /** Whether they give no rows from now on, as a disk that fails. */
  spoil(isSpoilt: boolean): void;
}

/** How to make them. */
export interface KitHostOptions {
  readonly rules?: Partial<KitRules>;
  /** The platform's clock: the machine's, one that nobody sets when the machine's is set, or the real one. */
  readonly platformClock?: "machine" | "own" | "real";
}

/** Makes both, with room on the disk. */
export async function kitHost(options: KitHostOptions = {}): Promise<KitHost> {
  const wired: { kit?: ConnectorKit } = {};
  const host = memoryHost({
    http: (request) => wired.kit?.handle(request) ?? new Response(null, { status: 502 }),
  });
  const { clock } = host;
  const begun = clock.now() - clock.monotonic();
  const nows = {
    machine: () => clock.now(),
    own: () => begun + clock.monotonic(),
    real: Date.now,
  };
  const { rules, platformClock = "machine" } = options;
  const kit = wired.kit = await createConnectorKit({
    now: nows[platformClock],
    ...(rules === undefined ? {} : { rules }),
  });
  let [isFull, isSpoilt] = [false, false];
  const databases: typeof host.databases = {
    open: async (path) => {
      const db = await host.databases.open(path);
      const transaction: typeof db.transaction = (work) => {
        if (isFull) throw new FileFault("ENOSPC", path, "no space left");
        return db.transaction(work);
      };
      const prepare: typeof db.prepare = (sql) => {
        const prepared = db.prepare(sql);
        const all: typeof prepared.all = (...values) => {
          if (isSpoilt) throw new FileFault("EIO", path, "disk I/O error");
          return prepared.all(...values);
        };
        return { ...prepared, all };
      };
      return { ...db, transaction, prepare };
    },
  };
  return {
    host: { ...host, databases },
    kit,
    fill: (full) => {
      isFull = full;
    },
    spoil: (spoilt) => {
      isSpoilt = spoilt;
    },
  };
}
