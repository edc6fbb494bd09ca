/**
 * The current roster: identities, agents and admins. If `WEBVIEW_LEDGER` names a file, the gateway
 * follows it, so that a change needs no restart. A damaged file changes nothing: known identities
 * keep their rights, and none is added.
 *
 * @module
 */

import type { Roster } from "core/access/viewer.ts";
import { parseRosterFile } from "core/access/roster_file.ts";
import { followFile } from "core/files/followed_file.ts";
import type { AgentName, Email } from "core/names.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { ok } from "core/result.ts";

/** The roster in use. */
export interface LiveRoster {
  /** The roster now. It never changes; a new one replaces it. */
  current(): Roster;
  /** Reads the file now, if there is one. Resolves when `current` is as new as this call. */
  refresh(): Promise<void>;
  /** Whether the file was unusable at the last check. */
  isDamaged(): boolean;
  close(): void;
}

/** What a new roster changed. */
export interface RosterChange {
  readonly roster: Roster;
  /** Identities that own no agent now, or a different one. */
  readonly former: ReadonlySet<Email>;
  /** Whether an agent became an admin, or is none any more. */
  readonly hasAdminsChanged: boolean;
  readonly added: readonly AgentName[];
  readonly removed: readonly AgentName[];
}

/** Dependencies. */
export interface LiveRosterDeps {
  readonly roster: Roster;
  /** The file to follow; undefined where the settings contain the roster itself. */
  readonly path: string | undefined;
  readonly files: Pick<Files, "readText" | "stat">;
  readonly clock: Clock;
  readonly log: Log;
  /** Called after each change. */
  readonly onChange: (change: RosterChange) => void;
}

/** Opens the roster, and follows its file if there is one. */
export function openRoster(deps: LiveRosterDeps): LiveRoster {
  const { path, files, clock, log, onChange } = deps;
  let roster = deps.roster;
  const take = (next: Roster) => {
    const change = rosterChange(roster, next);
    if (change === undefined) return;
    roster = next;
    const { former, added, removed } = change;
    log.info("roster changed", {
      agents: next.agents.size,
      added: added.length,
      removed: removed.length,
      former: former.size,
    });
    onChange(change);
  };
  const file = path === undefined ? undefined : followFile({
    path,
    files,
    clock,
    read: (text) => {
      const parsed = parseRosterFile(text);
      if (!parsed.ok) return parsed;
      take(parsed.value);
      return ok(undefined);
    },
    onFault: (fault) => log.error("roster not read", { path, error: fault }),
  });
  return {
    current: () => roster,
    refresh: async () => await file?.refresh(),
    isDamaged: () => file?.isDamaged() ?? false,
    close: () => file?.close(),
  };
}

/** Compares two rosters; undefined when they are equal. */
export function rosterChange(before: Roster, after: Roster): RosterChange | undefined {
  const former = [...before.ledger].filter(([email, agent]) => after.ledger.get(email) !== agent);
  const hasNew = [...after.ledger].some(([email, agent]) => before.ledger.get(email) !== agent);
  const hasAdminsChanged = before.admins.symmetricDifference(after.admins).size > 0;
  if (former.length === 0 && !hasNew && !hasAdminsChanged) return undefined;
  return {
    roster: after,
    former: new Set(former.map(([email]) => email)),
    hasAdminsChanged,
    added: [...after.agents.difference(before.agents)],
    removed: [...before.agents.difference(after.agents)],
  };
}
