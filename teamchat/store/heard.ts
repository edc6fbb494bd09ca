/**
 * Conversations as this process wrote them last, so that a message in the one that was heard
 * from last anyway is no write: what is stored of it says the same, and when it was heard
 * from is asked for its order alone. Whatever is not known here is written. Bounded; no
 * database and no clock of its own.
 *
 * @module
 */

import type { Conversation } from "teamchat/store/turn.ts";

/** What was written. */
export interface Heard {
  /**
   * Whether all of it is stored already, as the last of its owner and of its agent;
   * `text` is its site.
   */
  has(conversation: Conversation, text: string): boolean;
  /** It was written, in a transaction that may still be undone. */
  keep(conversation: Conversation, text: string): void;
  /** A transaction was undone, or a conversation changed elsewhere. */
  forget(): void;
}

/** Conversations that are remembered, and how long a time may stand that is not written again. */
const KEPT = 10_000;
const STANDS_MS = 60_000;

interface Written {
  readonly owner: string;
  readonly agent: string;
  readonly text: string;
  readonly seen: number;
}

interface Last {
  readonly conversation: string;
  readonly seen: number;
}

/** Makes an empty memory. */
export function createHeard(): Heard {
  const written = new Map<string, Written>();
  const lastOfOwner = new Map<string, Last>();
  const lastOfAgent = new Map<string, Last>();
  const forget = () => [written, lastOfOwner, lastOfAgent].forEach((map) => map.clear());
  return {
    forget,
    has: ({ owner, agent, site: { conversation }, seen }, text) => {
      const known = written.get(conversation);
      return known !== undefined && known.owner === owner && known.agent === agent &&
        known.text === text && Math.abs(seen - known.seen) < STANDS_MS &&
        lastOfOwner.get(owner)?.conversation === conversation &&
        lastOfAgent.get(agent)?.conversation === conversation;
    },
    keep: ({ owner, agent, site: { conversation }, seen }, text) => {
      if (written.size >= KEPT) forget();
      written.set(conversation, { owner, agent, text, seen });
      enter(lastOfOwner, owner, { conversation, seen });
      enter(lastOfAgent, agent, { conversation, seen });
    },
  };
}

/** What was received before the other, and is handed over after it, is not the last. */
function enter(lasts: Map<string, Last>, of: string, last: Last): void {
  const before = lasts.get(of);
  if (before === undefined || last.seen >= before.seen) lasts.set(of, last);
}
