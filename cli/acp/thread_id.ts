/**
 * Ids of an editor's threads. An id contains agent and conversation, so that a thread of an earlier
 * process continues its conversation. Pure.
 *
 * @module
 */

import { conversationName, namedConversation } from "core/dial/conversation.ts";

/** A thread; without a conversation it is one of the default conversation. */
export interface Thread {
  readonly conversation?: string;
}

/** Returns the name of the conversation that a new thread begins; people see it in lists. */
export function newConversation(now: number, id: string): string {
  const day = new Date(now).toISOString().slice(0, 10);
  return `editor-${day}-${id.slice(0, 8)}`;
}

/** Returns the id of the thread of this conversation. */
export function threadId(agent: string, conversation: string): string {
  return `${agent}/${conversation}`;
}

/** Returns the thread with this id; undefined if it is not the id of a thread of the agent. */
export function threadOf(agent: string, id: string): Thread | undefined {
  // Ids of earlier versions, whose threads had no conversation.
  if (id.startsWith(`${agent}:`)) return {};
  if (!id.startsWith(`${agent}/`)) return undefined;
  const name = conversationName.safeParse(id.slice(agent.length + 1));
  if (!name.success) return undefined;
  const conversation = namedConversation(name.data);
  return conversation === undefined ? {} : { conversation };
}
