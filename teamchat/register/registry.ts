/**
 * Which agents are connected. The connection itself is the route to an agent; a newer connection
 * replaces the older one.
 *
 * @module
 */

import { CLOSE, type ServerFrame } from "core/dial/frames.ts";

/** One registered connection. */
export interface AgentSession {
  readonly agent: string;
  /** Identity of the agent's outbox. */
  readonly epoch: string;
  readonly peer: string;
  /** The key that was proven; undefined for the shared token. */
  readonly provenKey: string | undefined;
  /** Sends a frame; false when the connection is gone or its buffer is full, which ends it. */
  send(frame: ServerFrame): boolean;
  close(code: number, reason: string): void;
  /** Closes, and is gone from here at once. */
  end(code: number, reason: string): void;
}

/** Finding and changing who is connected. */
export interface AgentRegistry {
  /** Adds a session and closes the older one of the same agent. */
  put(session: AgentSession): void;
  /** Removes exactly this session; false when another one took its place before. */
  remove(session: AgentSession): boolean;
  get(agent: string): AgentSession | undefined;
  all(): readonly AgentSession[];
}

/** Makes an empty registry. */
export function createAgentRegistry(): AgentRegistry {
  const sessions = new Map<string, AgentSession>();
  return {
    put: (session) => {
      const older = sessions.get(session.agent);
      sessions.set(session.agent, session);
      older?.close(CLOSE.replaced, "replaced by a newer connection");
    },
    remove: (session) => {
      if (sessions.get(session.agent) !== session) return false;
      return sessions.delete(session.agent);
    },
    get: (agent) => sessions.get(agent),
    all: () => [...sessions.values()],
  };
}
