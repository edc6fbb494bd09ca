/**
 * The current map of owners to agents from `TEAMS_AGENTS`. If the setting names a file, `apply`
 * rewrites it and the program uses it within a fraction of a second, without a restart. An
 * unusable file changes nothing: known owners stay, none is added, and health reports it.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { fileVersion } from "core/files/file_stat.ts";
import { teamsAgentsType } from "core/ledger/maps.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { type AgentName, type ObjectId, parseObjectId } from "core/names.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
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
  #version: string | undefined;
  #text: string | undefined;
  #fault = "";
  #underWay: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #isClosed = false;
  #cancel = () => {};

  constructor(deps: OwnersDeps) {
    this.#deps = deps;
    this.map = new Map(deps.agents);
    if (deps.path !== undefined) this.#arm();
  }

  isDamaged(): boolean {
    return this.#fault !== "";
  }

  gone(owner: string, agent: string): AbortSignal {
    if (this.map.get(owner as ObjectId) !== agent) return AbortSignal.abort(GONE);
    const known = this.#gone.get(owner) ?? new AbortController();
    this.#gone.set(owner, known);
    return known.signal;
  }

  /** A check in flight may have begun before a change, so each call waits for a later check. */
  refresh(): Promise<void> {
    const { path } = this.#deps;
    if (path === undefined || this.#isClosed) return Promise.resolve();
    this.#next ??= (async () => {
      await this.#underWay;
      this.#next = undefined;
      this.#underWay = this.#refreshNow(path).catch((thrown) => this.#refuse(errorText(thrown)));
      await this.#underWay;
    })();
    return this.#next;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  #arm(): void {
    this.#cancel = this.#deps.clock.after(DIAL_LIMITS.keyFilePollMs, async () => {
      await this.refresh();
      if (!this.#isClosed) this.#arm();
    });
  }

  async #refreshNow(path: string): Promise<void> {
    const { files, clock } = this.#deps;
    const stat = await files.stat(path);
    const version = fileVersion(stat, clock.now(), DIAL_LIMITS.keyFileSettledMs);
    if (version !== undefined && version === this.#version) return;
    const text = stat === undefined ? undefined : await files.readText(path);
    this.#version = version;
    if (text === undefined) return this.#refuse("there is no such file");
    if (text === this.#text || this.#isClosed) return;
    const type = teamsAgentsType();
    const read = type.parse(text.trim());
    if (!read.ok) return this.#refuse(read.error || type.wanted || "it contains no owners");
    this.#text = text;
    this.#take(read.value);
  }

  #take(next: ReadonlyMap<ObjectId, AgentName>): void {
    const { log, onChange } = this.#deps;
    this.#fault = "";
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

  #refuse(fault: string): void {
    if (fault !== this.#fault) {
      this.#deps.log.error("owners not read", { path: this.#deps.path, error: fault });
    }
    this.#fault = fault;
    // Read the file again once it is readable, even if its text is unchanged.
    this.#text = undefined;
  }
}
