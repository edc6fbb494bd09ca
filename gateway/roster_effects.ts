/**
 * Applies a changed roster to what is connected: ends sessions and streams that lost their right,
 * and publishes the agents that were added or removed. Everything else continues.
 *
 * @module
 */

import { checkIdentity } from "core/access/identity.ts";
import { CLOSE } from "core/dial/frames.ts";
import { hostOfSession } from "core/dial/host_job.ts";
import { NOT_AUTHORIZED } from "core/dial/server_session.ts";
import type { SessionRegistry } from "core/dial/sessions.ts";
import type { Log } from "core/ports/log.ts";
import type { StreamSet } from "gateway/cockpit/streams.ts";
import type { RosterChange } from "gateway/live_roster.ts";
import type { Hub } from "gateway/transcript/hub.ts";

/** Applies one change. */
export function applyRoster(
  { roster, former, hasAdminsChanged, added, removed }: RosterChange,
  { registry, streams, hub, log }: {
    readonly registry: Pick<SessionRegistry, "all">;
    readonly streams: Pick<StreamSet, "endChanged">;
    readonly hub: Pick<Hub, "publish">;
    readonly log: Log;
  },
): void {
  if (former.size > 0) {
    for (const session of registry.all()) {
      const { agent, userEmail, peer } = session;
      if (hostOfSession(agent) !== undefined) continue;
      if (checkIdentity(roster.ledger, userEmail, agent).ok) continue;
      log.warning("agent's identity is no longer in the ledger", { agent, peer });
      session.end(CLOSE.policyViolation, NOT_AUTHORIZED);
    }
  }
  if (former.size > 0 || hasAdminsChanged) streams.endChanged(roster);
  hub.publish([
    ...added.map((agent) => ({ kind: "presence", agent } as const)),
    ...removed.map((agent) => ({ kind: "removed", agent } as const)),
  ]);
}
