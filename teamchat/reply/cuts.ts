/**
 * The messages of an answer: the usual length, and shorter from where the platform found one too
 * large. The same text and cuts give the same messages in each process, so that one which goes on
 * after a kill sends what is missing and nothing else. Pure.
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
 * Cuts once more, from the message `at` on; undefined when pieces would be too short to be read.
 */
export function cutSmaller(cuts: readonly Cut[], at: number): readonly Cut[] | undefined {
  const length = Math.floor((cuts.at(-1)?.length ?? TEAMCHAT_LIMITS.messageLengthMax) / 2);
  return length < TEAMCHAT_LIMITS.messageLengthMin ? undefined : [...cuts, { at, length }];
}
