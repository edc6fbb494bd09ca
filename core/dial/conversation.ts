/**
 * Names of an agent's conversations. One of them is the default: a turn without a name uses it, and
 * on the wire and in stores it has no name.
 *
 * @module
 */

import * as z from "zod";

/** The name by which people and clients may call the default conversation. */
export const DEFAULT_CONVERSATION = "default";

/** Name of a conversation, as one agent's frames and requests carry it. */
export const conversationName = z.string().regex(
  /^[a-z0-9-]{1,64}$/,
  "must be 1 to 64 of a-z, 0-9 and -",
);

/** Returns the name of another conversation than the default one; undefined for the default. */
export function namedConversation(name: string | undefined): string | undefined {
  return name === DEFAULT_CONVERSATION ? undefined : name;
}
