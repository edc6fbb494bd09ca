/**
 * Caches the conversations that this process wrote last, to skip needless writes. A message in the
 * latest conversation changes nothing but the time, and that time is used only for ordering. An
 * unknown conversation is always written. Limited in size; uses no database and no clock.
 *
 * @module
 */

import type { Conversation } from "teamchat/store/turn.ts";

/** The cache of written conversations. */
export interface ConversationCache {
  /**
   * Whether all of it is already stored, as the latest of its owner and of its agent. `text` is
   * its serialized context.
   */
  has(conversation: Conversation, text: string): boolean;
  /** Records a write in a transaction that may still be rolled back. */
  keep(conversation: Conversation, text: string): void;
  /** Clears the cache after a rollback, or after a conversation changed elsewhere. */
  forget(): void;
}

/** Number of cached conversations, and how old a stored time may become. */
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

/** Creates an empty cache. */
export function createConversationCache(): ConversationCache {
  const written = new Map<string, Written>();
  const lastOfOwner = new Map<string, Last>();
  const lastOfAgent = new Map<string, Last>();
  const forget = () => [written, lastOfOwner, lastOfAgent].forEach((map) => map.clear());
  return {
    forget,
    has: ({ owner, agent, context: { conversation }, seen }, text) => {
      const known = written.get(conversation);
      return known !== undefined && known.owner === owner && known.agent === agent &&
        known.text === text && Math.abs(seen - known.seen) < STANDS_MS &&
        lastOfOwner.get(owner)?.conversation === conversation &&
        lastOfAgent.get(agent)?.conversation === conversation;
    },
    keep: ({ owner, agent, context: { conversation }, seen }, text) => {
      if (written.size >= KEPT) forget();
      written.set(conversation, { owner, agent, text, seen });
      enter(lastOfOwner, owner, { conversation, seen });
      enter(lastOfAgent, agent, { conversation, seen });
    },
  };
}

/** An activity that was received earlier but handed over later does not become the latest. */
function enter(lasts: Map<string, Last>, of: string, last: Last): void {
  const before = lasts.get(of);
  if (before === undefined || last.seen >= before.seen) lasts.set(of, last);
}
