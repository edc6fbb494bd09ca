/**
 * Whose agent is whose, as `TEAMS_AGENTS` says at the moment: where the setting names a file,
 * `apply` writes it anew and the program goes by it within a fraction of a second, without a
 * restart. A file that cannot be used changes nothing: those who are known stay, nobody is
 * added, and health says so.
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

/** The owners of this moment. */
export interface Owners {
  /** One map for the whole program; it changes in place, all at once. */
  readonly map: ReadonlyMap<ObjectId, AgentName>;
  /** Whether the file could not be used when it was last looked at. */
  isDamaged(): boolean;
  /** Aborted when the owner is not that agent's any more, or is not now. */
  gone(owner: string, agent: string): AbortSignal;
  /** Looks at the file now; resolves when the map is as new as the question. Never rejects. */
  look(): Promise<void>;
  close(): void;
}

/** What watching is made of. */
export interface OwnersParts {
  /** Owners at start. */
  readonly agents: ReadonlyMap<ObjectId, AgentName>;
  /** The file that the setting names; undefined where the setting holds the map itself. */
  readonly path: string | undefined;
  readonly files: Pick<Files, "readText" | "stat">;
  readonly clock: Clock;
  readonly log: Log;
  /** Told after a change: agents from which an owner was taken. */
  readonly onChange?: (bereft: ReadonlySet<AgentName>) => void;
}

/** An owner whom nobody knows may be in the file since a moment ago. */
export async function lookForOwner(
  { from }: Pick<Activity, "from">,
  owners: Owners,
): Promise<void> {
  const owner = parseObjectId(from?.aadObjectId ?? "");
  if (owner.ok && !owners.map.has(owner.value)) await owners.look();
}

const GONE = "owner gone";

/** Starts to watch. */
export function watchOwners(parts: OwnersParts): Owners {
  return new WatchedOwners(parts);
}

class WatchedOwners implements Owners {
  readonly map: Map<ObjectId, AgentName>;
  readonly #parts: OwnersParts;
  /** By owner, for those whom somebody asked about. */
  readonly #gone = new Map<string, AbortController>();
  #version: string | undefined;
  #text: string | undefined;
  #fault = "";
  #underWay: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #isClosed = false;
  #cancel = () => {};

  constructor(parts: OwnersParts) {
    this.#parts = parts;
    this.map = new Map(parts.agents);
    if (parts.path !== undefined) this.#arm();
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

  /** A look that is under way may have begun before a change: it serves nobody who asks now. */
  look(): Promise<void> {
    const { path } = this.#parts;
    if (path === undefined || this.#isClosed) return Promise.resolve();
    this.#next ??= (async () => {
      await this.#underWay;
      this.#next = undefined;
      this.#underWay = this.#lookNow(path).catch((thrown) => this.#refuse(errorText(thrown)));
      await this.#underWay;
    })();
    return this.#next;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  #arm(): void {
    this.#cancel = this.#parts.clock.after(DIAL_LIMITS.keyFileLookMs, async () => {
      await this.look();
      if (!this.#isClosed) this.#arm();
    });
  }

  async #lookNow(path: string): Promise<void> {
    const { files, clock } = this.#parts;
    const stat = await files.stat(path);
    const version = fileVersion(stat, clock.now(), DIAL_LIMITS.keyFileSettledMs);
    if (version !== undefined && version === this.#version) return;
    const text = stat === undefined ? undefined : await files.readText(path);
    this.#version = version;
    if (text === undefined) return this.#refuse("there is no such file");
    if (text === this.#text || this.#isClosed) return;
    const type = teamsAgentsType();
    const read = type.parse(text.trim());
    if (!read.ok) return this.#refuse(read.error || type.wanted || "it holds no owners");
    this.#text = text;
    this.#take(read.value);
  }

  #take(next: ReadonlyMap<ObjectId, AgentName>): void {
    const { log, onChange } = this.#parts;
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
      this.#parts.log.error("owners not read", { path: this.#parts.path, error: fault });
    }
    this.#fault = fault;
    // Whatever it held before, it is read again once it can be.
    this.#text = undefined;
  }
}
