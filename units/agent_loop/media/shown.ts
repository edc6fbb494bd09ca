/**
 * Which media of a conversation the model sees. Old ones are hidden first, each with a text in its
 * position. Pure: messages in, messages out.
 *
 * @module
 */

import type { Message } from "units/agent_loop/conversation/message.ts";
import {
  type HiddenWhy,
  hideMedia,
  type MediaKind,
  type MediaRef,
  mediaTokens,
} from "units/agent_loop/media/media.ts";

/** Limits of the media in one request. */
export const SHOWN_LIMITS = {
  /** Beyond 20 images, endpoints refuse any with more than 2000 pixels a side. */
  countMax: 20,
  /**
   * Number of old media that are hidden together. The prompt stays the same for some steps, so that
   * the endpoint's cache still matches.
   */
  hiddenTogether: 10,
  /** Endpoints accept requests of 32 MB; base64 makes this 20 MiB. */
  bytesMax: 15 * 1024 * 1024,
} as const;

/** What a model accepts, and what its endpoint refused in this session. */
export interface MediaRules {
  readonly accepts: ReadonlySet<MediaKind>;
  /** Digests of refused media. */
  readonly refused: ReadonlySet<string>;
}

/** Returns the media of messages, oldest first. */
export function mediaOf(messages: readonly Message[]): readonly MediaRef[] {
  return messages.flatMap((message) => message.role === "assistant" ? [] : message.media ?? []);
}

/** Hides what the model does not accept, and the oldest media beyond the limits. */
export function showMedia(messages: readonly Message[], rules: MediaRules): readonly Message[] {
  const accepted = hideEach(
    messages,
    (ref) =>
      !rules.accepts.has(ref.kind)
        ? "model"
        : rules.refused.has(ref.sha256)
        ? "endpoint"
        : undefined,
  );
  return hideOldest(accepted, countToHide(mediaOf(accepted)));
}

/** Hides the oldest media until the messages need at most `tokens` less, never the newest group. */
export function hideForTokens(messages: readonly Message[], tokens: number): readonly Message[] {
  const newest = messages.findLastIndex((message) => message.role === "assistant");
  const old = mediaOf(messages.slice(0, Math.max(0, newest)));
  let freed = 0;
  let count = 0;
  while (count < old.length && freed < tokens) freed += mediaTokens(old[count++] as MediaRef);
  return hideOldest(messages, count);
}

/** Hides all media; for a turn that is too long without its old steps. */
export function hideAllMedia(messages: readonly Message[]): readonly Message[] {
  return hideEach(messages, () => "window");
}

/** Hides media whose bytes are gone. */
export function hideLost(
  messages: readonly Message[],
  stored: ReadonlySet<string>,
): readonly Message[] {
  return hideEach(messages, (ref) => stored.has(ref.sha256) ? undefined : "lost");
}

/** Returns how many of the oldest media exceed the limits. */
function countToHide(media: readonly MediaRef[]): number {
  const { countMax, bytesMax, hiddenTogether } = SHOWN_LIMITS;
  let bytes = 0;
  const fits = [...media].reverse().findIndex((ref, index) => {
    bytes += ref.bytes;
    return index >= countMax || bytes > bytesMax;
  });
  if (fits === -1) return 0;
  const over = media.length - fits;
  const together = Math.ceil(over / hiddenTogether) * hiddenTogether;
  // The newest one stays, whatever its size: a stored medium is within the limits.
  return Math.min(together, media.length - 1);
}

function hideOldest(messages: readonly Message[], count: number): readonly Message[] {
  let left = count;
  return count === 0 ? messages : hideEach(messages, () => left-- > 0 ? "window" : undefined);
}

function hideEach(
  messages: readonly Message[],
  why: (ref: MediaRef) => HiddenWhy | undefined,
): readonly Message[] {
  return messages.map((message) =>
    message.role === "assistant" || message.media === undefined ? message : hideMedia(message, why)
  );
}
