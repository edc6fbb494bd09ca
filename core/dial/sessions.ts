/**
 * The registry of connected agents. The connection itself is the route to an agent; there is no
 * separate record that could outlive it or vanish before it. A newer connection of an agent
 * replaces the older one.
 *
 * @module
 */

import { CLOSE, type ServerFrame } from "core/dial/frames.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Random } from "core/ports/random.ts";

/** One registered connection. */
export interface DialSession {
  /** Agent name, or `host:<hostname>` of a host's own unit. */
  readonly agent: string;
  /** Identity that the client registered with; empty for a host's own unit. */
  readonly userEmail: string;
  readonly host: string | undefined;
  readonly version: string | undefined;
  readonly protocol: number | undefined;
  /** What the client states it can do; empty if it states nothing. */
  readonly capabilities?: readonly string[];
  /** Identity of the agent's outbox; unique to this connection if the client names none. */
  readonly epoch: string;
  /** The key that was proven, if any. */
  readonly provenKey: string | undefined;
  readonly peer: string;
  readonly since: number;
  /** Sends a frame; false when the connection is gone or its buffer is full, which ends it. */
  send(frame: ServerFrame): boolean;
  /** Stops reading from the peer for `ms` milliseconds; sending still works. */
  pauseReading(ms: number): void;
  close(code: number, reason: string): void;
  /** Closes and removes the session at once, without waiting for the peer's close frame. */
  end(code: number, reason: string): void;
}

/** When an agent disconnected, and with which close code. */
export interface LastSeen {
  readonly at: number;
  readonly code: number;
}

/** Finds, adds and removes connected agents. */
export interface SessionRegistry {
  /** Adds a session and closes the older one of the same agent. */
  put(session: DialSession): void;
  /** Removes exactly this session; returns false if another one has already replaced it. */
  remove(session: DialSession, code: number): boolean;
  get(agent: string): DialSession | undefined;
  lastSeen(agent: string): LastSeen | undefined;
  all(): readonly DialSession[];
}

/** Makes an empty registry. */
export function createSessionRegistry(clock: Clock): SessionRegistry {
  const sessions = new Map<string, DialSession>();
  const seen = new Map<string, LastSeen>();
  return {
    put: (session) => {
      const older = sessions.get(session.agent);
      sessions.set(session.agent, session);
      older?.close(CLOSE.replaced, "replaced by a newer connection");
    },
    remove: (session, code) => {
      if (sessions.get(session.agent) !== session) return false;
      sessions.delete(session.agent);
      seen.set(session.agent, { at: clock.now(), code });
      return true;
    },
    get: (agent) => sessions.get(agent),
    lastSeen: (agent) => seen.get(agent),
    all: () => [...sessions.values()],
  };
}

/** Sends each agent its time to reconnect, then closes. Agents keep running and buffer events. */
export function closeAll(registry: SessionRegistry, reason: string, random: Random): void {
  for (const session of registry.all()) {
    const retryAfterMs = Math.floor(random.fraction() * DIAL_LIMITS.returnSpreadMs);
    session.send({ type: "closing", reason, retry_after_ms: retryAfterMs });
    session.close(CLOSE.goingAway, reason.slice(0, 100));
  }
}
