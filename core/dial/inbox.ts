/**
 * Stores the events of connected agents. Events that arrive together are stored in one write, and
 * an event is acknowledged after it is stored. An agent above its rate limit is read more slowly.
 * If more of its events wait to be stored than `DIAL_LIMITS.unstoredEventsMax` or
 * `unstoredBytesMax` allow, the agent is disconnected.
 *
 * @module
 */

import type { DialCounts } from "core/dial/counts.ts";
import type { DurableEvent } from "core/dial/event.ts";
import { AGENT_STORAGE_FULL, CLOSE } from "core/dial/frames.ts";
import { createDialPace } from "core/dial/pace.ts";
import type { DialSession } from "core/dial/sessions.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import { EVENT_LIMITS } from "core/limits/event.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Result } from "core/result.ts";

/** Result of handing events to a store. */
export interface AppendedEvents {
  /** Last sequence number that is stored without a gap before it. */
  readonly ackedSeq: number;
  /** Number of events that were already stored. */
  readonly repeated: number;
  /** Number of events that name a turn of another agent. */
  readonly otherAgents: number;
  /** A sequence number is missing; nothing after it was stored. */
  readonly hasGap: boolean;
}

/** Dependencies of the inboxes. */
export interface InboxDeps<Appended extends AppendedEvents> {
  readonly append: (
    session: DialSession,
    events: readonly DurableEvent[],
  ) => Result<Appended> | Promise<Result<Appended>>;
  /** Called with the result of each successful write, before the acknowledgement is sent. */
  readonly onStored: (appended: Appended) => void;
  /** Schedules a write of the agent; events that arrive before it runs are written with it. */
  readonly run: (agent: string, write: () => Promise<void>) => void;
  readonly metrics: DialCounts;
  readonly clock: Clock;
  readonly log: Log;
}

/** Accepts an event of a session. */
export type AcceptEvent = (session: DialSession, event: DurableEvent) => void;

/** Events of one session that are not stored yet. */
interface Inbox {
  events: DurableEvent[];
  bytes: number;
  isBusy: boolean;
}

/**
 * Returns the function that accepts an event. Each session gets its own inbox with its first event.
 */
export function createInboxes<Appended extends AppendedEvents>(
  deps: InboxDeps<Appended>,
): AcceptEvent {
  const inboxes = new WeakMap<DialSession, Inbox>();
  const keepPace = paceKeeper(deps);
  return (session, event) => {
    const inbox = inboxes.get(session) ?? { events: [], bytes: 0, isBusy: false };
    inboxes.set(session, inbox);
    inbox.events.push(event);
    const bytes = JSON.stringify(event.payload).length;
    inbox.bytes += bytes;
    keepPace(session, bytes);
    const isOver = inbox.events.length > DIAL_LIMITS.unstoredEventsMax ||
      inbox.bytes > DIAL_LIMITS.unstoredBytesMax;
    if (isOver) {
      deps.log.warning("agent exceeds the limit of unstored events", { agent: session.agent });
      inbox.events = [];
      return session.close(CLOSE.policyViolation, "too many events");
    }
    if (inbox.isBusy) return;
    inbox.isBusy = true;
    deps.run(session.agent, async () => {
      try {
        await storeAll(session, inbox, deps);
      } finally {
        inbox.isBusy = false;
      }
    });
  };
}

/** Pauses reading from an agent that sends above its rate; no event is lost. */
function paceKeeper(
  { metrics, clock, log }: Pick<InboxDeps<AppendedEvents>, "metrics" | "clock" | "log">,
): (session: DialSession, bytes: number) => void {
  const countEvent = createDialPace();
  const loggedAt = new Map<string, number>();
  return (session, bytes) => {
    const { agent } = session;
    const now = clock.monotonic();
    const waitMs = countEvent(agent, bytes, now);
    if (waitMs === 0) return;
    metrics.count("paced");
    session.pauseReading(waitMs);
    const lastLogged = loggedAt.get(agent);
    if (lastLogged !== undefined && now - lastLogged < EVENT_LIMITS.logIntervalMs) return;
    loggedAt.set(agent, now);
    log.warning("agent exceeds its event rate; reading is slowed", { agent });
  };
}

async function storeAll<Appended extends AppendedEvents>(
  session: DialSession,
  inbox: Inbox,
  { append, onStored, metrics, log }: InboxDeps<Appended>,
): Promise<void> {
  const { agent } = session;
  while (inbox.events.length > 0) {
    const { events } = inbox;
    inbox.events = [];
    inbox.bytes = 0;
    const appended = await append(session, events);
    if (!appended.ok) {
      const { code, message, hints } = appended.error;
      const hint = hints[0] === undefined ? {} : { hint: hints[0] };
      log.error("event not stored", { agent, code, error: message, ...hint });
      const reason = code === AGENT_STORAGE_FULL ? code : "storage";
      return session.close(CLOSE.tryAgainLater, reason);
    }
    const { ackedSeq, repeated, otherAgents, hasGap } = appended.value;
    metrics.count("events", { result: "stored" }, events.length - repeated);
    metrics.count("events", { result: "repeated" }, repeated);
    if (otherAgents > 0) {
      metrics.count("events", { result: "foreign" }, otherAgents);
      log.warning("events name a turn of another agent", { agent, events: otherAgents });
    }
    onStored(appended.value);
    if (ackedSeq > 0) session.send({ type: "ack", seq: ackedSeq });
    if (hasGap) {
      log.warning("event numbers have a gap", { agent, acked: ackedSeq });
      return session.close(CLOSE.policyViolation, "gap");
    }
  }
}
