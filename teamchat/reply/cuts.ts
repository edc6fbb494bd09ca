/**
 * Splits an answer into messages, each as long as the platform normally accepts. When the platform
 * refuses a message as too large, that message and those after it become shorter: this is a cut.
 * The same text and cuts always give the same messages, so after a kill the next process sends
 * exactly the missing ones. Pure.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { splitMessage } from "teamchat/reply/split.ts";
import type { Cut } from "teamchat/store/turn.ts";

/** Returns the messages of `text`. */
export function cutAnswer(text: string, cuts: readonly Cut[]): readonly string[] {
  let messages = splitMessage(text, TEAMCHAT_LIMITS.messageLengthMax);
  for (const { at, length } of cuts) {
    const rest = messages.slice(at).flatMap((message) => splitMessage(message, length));
    messages = [...messages.slice(0, at), ...rest];
  }
  return messages;
}

/**
 * Halves the length from message `at` on; undefined when the pieces would be too short to read.
 */
export function cutSmaller(cuts: readonly Cut[], at: number): readonly Cut[] | undefined {
  const length = Math.floor((cuts.at(-1)?.length ?? TEAMCHAT_LIMITS.messageLengthMax) / 2);
  return length < TEAMCHAT_LIMITS.messageLengthMin ? undefined : [...cuts, { at, length }];
}
