/**
 * Keeps a conversation within the model's window. Pure: messages in, messages out. The steps, in
 * order:
 *
 * 1. Replace old images by a text.
 * 2. Shorten tool results of earlier turns.
 * 3. Leave out whole old turns, with a marker.
 * 4. Shorten tool results of the running turn, oldest first.
 * 5. Leave out its oldest steps, with a marker.
 * 6. Replace all images, then cut the remaining texts.
 *
 * The result never contains a tool result without its call, or a call without its result.
 *
 * @module
 */

import { byteLength, cutMiddle } from "core/text/cut_text.ts";
import {
  type AssistantPart,
  callsOf,
  type Message,
} from "units/agent_loop/conversation/message.ts";
import { mediaTokens } from "units/agent_loop/media/media.ts";
import { hideAllMedia, hideForTokens } from "units/agent_loop/media/shown.ts";

/** The history as the model sees it. */
export interface FittedHistory {
  readonly messages: readonly Message[];
  /** Number of turns left out, `forgottenTurns` included. */
  readonly droppedTurns: number;
  readonly shortenedResults: number;
}

/** Options of `fitHistory`. */
export interface FitOptions {
  readonly budgetTokens: number;
  /** Number of turns that earlier fits left out, so that `messages` lacks them. */
  readonly forgottenTurns?: number;
  /** Summary of what precedes `messages`; it is never left out. */
  readonly summary?: string | undefined;
}

/**
 * Bytes per token. Low on purpose, because the estimate should err on the high side: English prose
 * has 4 to 5 and code 3, and a three-byte character is seldom more than one token.
 */
const BYTES_PER_TOKEN = 3;
const MESSAGE_TOKENS = 8;
/** Maximum size of an old tool result. */
const SHORT_RESULT_BYTES = 1024;
/**
 * When turns must be left out, the rest is reduced to this share of the budget, so that the next
 * few turns fit without leaving out more.
 */
const DROP_TO_SHARE = 0.7;
/** Limits for each text, tried one after the other while the running turn is still too large. */
const LAST_RESORT_BYTES = [64 * 1024, 16 * 1024, 4096, 1024, 256, 96] as const;

/** Estimates the tokens of a text. */
export function textTokens(text: string): number {
  return Math.ceil(byteLength(text) / BYTES_PER_TOKEN);
}

/** Estimates the tokens of a message. */
export function messageTokens(message: Message): number {
  if (message.role !== "assistant") {
    const media = (message.media ?? []).reduce((sum, ref) => sum + mediaTokens(ref), 0);
    return MESSAGE_TOKENS + textTokens(message.text) + media;
  }
  return message.parts.reduce((sum, part) => sum + partTokens(part), MESSAGE_TOKENS);
}

function partTokens(part: AssistantPart): number {
  const extra = part.provider_options === undefined
    ? 0
    : textTokens(JSON.stringify(part.provider_options));
  if (part.type !== "call") return extra + textTokens(part.text);
  return extra + MESSAGE_TOKENS + textTokens(part.tool) +
    textTokens(JSON.stringify(part.arguments) ?? "");
}

/** Estimates the tokens of a history. */
export function historyTokens(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + messageTokens(message), 0);
}

/** Fits a history into a number of tokens. The last turn is the running one. */
export function fitHistory(messages: readonly Message[], options: FitOptions): FittedHistory {
  const { summary, budgetTokens } = options;
  if (summary === undefined) return fitMessages(messages, options);
  const left = budgetTokens - textTokens(summary) - MARKER_TOKENS;
  const fitted = fitMessages(messages, { ...options, budgetTokens: left });
  return { ...fitted, messages: withSummary(fitted.messages, summary) };
}

/** Puts the summary before the first message, because some endpoints refuse two in a row. */
function withSummary(messages: readonly Message[], summary: string): readonly Message[] {
  const [first, ...rest] = messages;
  if (first?.role !== "user") return messages;
  const text = `[Summary of the earlier conversation, which you can no longer see]\n\n${summary}` +
    `\n\n[End of the summary]\n\n${first.text}`;
  return [{ ...first, text }, ...rest];
}

function fitMessages(given: readonly Message[], options: FitOptions): FittedHistory {
  const budget = options.budgetTokens;
  const forgotten = options.forgottenTurns ?? 0;
  const needed = historyTokens(given) + MARKER_TOKENS;
  const messages = needed > budget ? hideForTokens(given, needed - budget * DROP_TO_SHARE) : given;
  let turns = splitTurns(messages);
  let shortened = 0;
  const size = () => turns.reduce((sum, turn) => sum + historyTokens(turn), 0) + MARKER_TOKENS;
  if (size() > budget) {
    const older = shortenResults(turns.slice(0, -1).flat(), SHORT_RESULT_BYTES);
    shortened += older.count;
    turns = [...splitTurns(older.messages), ...turns.slice(-1)];
  }
  let dropped = forgotten;
  if (size() > budget) {
    while (turns.length > 1 && size() > budget * DROP_TO_SHARE) {
      turns = turns.slice(1);
      dropped++;
    }
  }
  let last = turns.flat();
  if (size() > budget) {
    const fitted = fitTurn(last, budget - MARKER_TOKENS);
    last = [...fitted.messages];
    shortened += fitted.count;
  }
  return {
    messages: dropped === 0 ? last : markDropped(last, dropped),
    droppedTurns: dropped,
    shortenedResults: shortened,
  };
}

/** Space for the marker that states how many turns are left out. */
const MARKER_TOKENS = 48;

function markDropped(messages: readonly Message[], dropped: number): readonly Message[] {
  const [first, ...rest] = messages;
  if (first?.role !== "user") return messages;
  const turns = dropped === 1 ? "1 earlier turn was" : `${dropped} earlier turns were`;
  return [{
    ...first,
    text: `[${turns} left out to fit the model's window]\n\n${first.text}`,
  }, ...rest];
}

/**
 * Splits a history into turns. A turn begins with a message of the owner; messages before the first
 * one are dropped.
 */
function splitTurns(messages: readonly Message[]): readonly (readonly Message[])[] {
  const turns: Message[][] = [];
  for (const message of messages) {
    if (message.role === "user" && message.isSteer !== true) turns.push([message]);
    else turns.at(-1)?.push(message);
  }
  return turns;
}

function shortenResults(
  messages: readonly Message[],
  bytesMax: number,
): { readonly messages: readonly Message[]; readonly count: number } {
  let count = 0;
  const short = messages.map((message): Message => {
    if (message.role !== "tool") return message;
    const cut = cutMiddle(message.text, bytesMax);
    if (cut.cutBytes === 0) return message;
    count++;
    return { ...message, text: cut.text };
  });
  return { messages: short, count };
}

/** Fits one turn that by itself exceeds the budget. */
function fitTurn(
  turn: readonly Message[],
  budget: number,
): { readonly messages: readonly Message[]; readonly count: number } {
  let { messages, count } = shortenOldResults(turn, budget);
  messages = dropOldSteps(messages, budget);
  if (historyTokens(messages) > budget) messages = hideAllMedia(messages);
  for (const bytesMax of LAST_RESORT_BYTES) {
    if (historyTokens(messages) <= budget) break;
    messages = messages.map((message) => cutMessage(message, bytesMax));
    count++;
  }
  return { messages, count };
}

/** Shortens results of the turn one by one, oldest first, until it fits. */
function shortenOldResults(turn: readonly Message[], budget: number) {
  const messages = [...turn];
  let count = 0;
  let size = historyTokens(messages);
  for (let index = 0; index < messages.length && size > budget; index++) {
    const message = messages[index];
    if (message?.role !== "tool") continue;
    const cut = cutMiddle(message.text, SHORT_RESULT_BYTES);
    if (cut.cutBytes === 0) continue;
    const short: Message = { ...message, text: cut.text };
    size += messageTokens(short) - messageTokens(message);
    messages[index] = short;
    count++;
  }
  return { messages: messages as readonly Message[], count };
}

/**
 * Drops the oldest steps of a turn (an answer with the results of its calls), never the last one.
 */
function dropOldSteps(turn: readonly Message[], budget: number): readonly Message[] {
  const [first, ...rest] = turn;
  if (first?.role !== "user") return turn;
  let steps: Message[][] = [];
  for (const message of rest) {
    if (message.role === "assistant") steps.push([message]);
    else steps.at(-1)?.push(message);
  }
  const before = steps.length;
  const size = () =>
    messageTokens(first) + MARKER_TOKENS +
    steps.reduce((sum, step) => sum + historyTokens(step), 0);
  while (steps.length > 1 && size() > budget) steps = steps.slice(1);
  const dropped = before - steps.length;
  if (dropped === 0) return turn;
  const marker = `\n\n[${dropped} earlier steps of this turn were left out to fit]`;
  return [{ ...first, text: first.text + marker }, ...steps.flat()];
}

function cutMessage(message: Message, bytesMax: number): Message {
  if (message.role !== "assistant") {
    return { ...message, text: cutMiddle(message.text, bytesMax).text };
  }
  const calls = callsOf(message.parts);
  return {
    role: "assistant",
    parts: message.parts.flatMap((part): AssistantPart[] => {
      // Drops reasoning, and `provider_options` of texts: they contain a signature that a
      // shortened part would not match.
      if (part.type === "reasoning") return [];
      if (part.type === "text") {
        return [{ type: "text", text: cutMiddle(part.text, bytesMax).text }];
      }
      const json = JSON.stringify(part.arguments) ?? "";
      const isLong = byteLength(json) > bytesMax / Math.max(1, calls.length);
      return [{
        type: "call",
        call_id: part.call_id,
        tool: part.tool,
        arguments: isLong ? { left_out: `${byteLength(json)} bytes` } : part.arguments,
      }];
    }),
  };
}
