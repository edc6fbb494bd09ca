/**
 * The current map of owners to agents from `TEAMS_AGENTS`. If the setting names a file, `apply`
 * rewrites it and the program uses it within a fraction of a second, without a restart. An
 * unusable file changes nothing: known owners stay, none is added, and health reports it.
 *
 * @module
 */

import { type FollowedFile, followFile } from "core/files/followed_file.ts";
import { teamsAgentsType } from "core/ledger/maps.ts";
import { type AgentName, type ObjectId, parseObjectId } from "core/names.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Activity } from "core/teamchat/activity.ts";

/** The current owners. */
export interface Owners {
  /** One map for the whole program; it is updated in place, in one step. */
  readonly map: ReadonlyMap<ObjectId, AgentName>;
  /** Whether the file was unusable at the last check. */
  isDamaged(): boolean;
  /** Aborted when the agent no longer belongs to the owner; already aborted if it does not now. */
  gone(owner: string, agent: string): AbortSignal;
  /** Reads the file now. Resolves when the map is at least as new as this call. Never rejects. */
  refresh(): Promise<void>;
  close(): void;
}

/** Dependencies. */
export interface OwnersDeps {
  /** Owners at start. */
  readonly agents: ReadonlyMap<ObjectId, AgentName>;
  /** The file that the setting names; undefined where the setting contains the map itself. */
  readonly path: string | undefined;
  readonly files: Pick<Files, "readText" | "stat">;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after a change with the agents that lost an owner. */
  readonly onChange?: (orphaned: ReadonlySet<AgentName>) => void;
}

/** Checks the file for an unknown owner, who may have just been added. */
export async function refreshForOwner(
  { from }: Pick<Activity, "from">,
  owners: Owners,
): Promise<void> {
  const owner = parseObjectId(from?.aadObjectId ?? "");
  if (owner.ok && !owners.map.has(owner.value)) await owners.refresh();
}

const GONE = "owner gone";

/** Starts watching. */
export function watchOwners(deps: OwnersDeps): Owners {
  return new WatchedOwners(deps);
}

class WatchedOwners implements Owners {
  readonly map: Map<ObjectId, AgentName>;
  readonly #deps: OwnersDeps;
  /** Abort controllers by owner, for owners that were queried. */
  readonly #gone = new Map<string, AbortController>();
  readonly #file: FollowedFile | undefined;

  constructor(deps: OwnersDeps) {
    this.#deps = deps;
    this.map = new Map(deps.agents);
    const { path, files, clock, log } = deps;
    this.#file = path === undefined ? undefined : followFile({
      path,
      files,
      clock,
      read: (text) => this.#read(text),
      onFault: (fault) => log.error("owners not read", { path, error: fault }),
    });
  }

  isDamaged(): boolean {
    return this.#file?.isDamaged() ?? false;
  }

  gone(owner: string, agent: string): AbortSignal {
    if (this.map.get(owner as ObjectId) !== agent) return AbortSignal.abort(GONE);
    const known = this.#gone.get(owner) ?? new AbortController();
    this.#gone.set(owner, known);
    return known.signal;
  }

  async refresh(): Promise<void> {
    await this.#file?.refresh();
  }

  close(): void {
    this.#file?.close();
  }

  #read(text: string): Result<void, string> {
    const type = teamsAgentsType();
    const read = type.parse(text.trim());
    if (!read.ok) return err(read.error || type.wanted || "it contains no owners");
    this.#take(read.value);
    return ok(undefined);
  }

  #take(next: ReadonlyMap<ObjectId, AgentName>): void {
    const { log, onChange } = this.#deps;
    const gone = [...this.map].filter(([owner, agent]) => next.get(owner) !== agent);
    const added = [...next].filter(([owner, agent]) => this.map.get(owner) !== agent);
    if (gone.length === 0 && added.length === 0) return;
    this.map.clear();
    for (const [owner, agent] of next) this.map.set(owner, agent);
    for (const [owner] of gone) {
      this.#gone.get(owner)?.abort(GONE);
      this.#gone.delete(owner);
    }
    log.info("owners changed", { owners: next.size, gone: gone.length, added: added.length });
    onChange?.(new Set(gone.map(([, agent]) => agent)));
  }
}
