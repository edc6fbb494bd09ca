/**
 * Keeping a conversation within the model's window. Pure: messages in, messages out. In order:
 * old tool results are shortened, whole old turns are left out with a stated marker, then old steps
 * of the running turn, and only at the very end anything that is still too long is cut.
 * The result never holds a tool result without its call, or a call without its result.
 *
 * @module
 */

import { byteLength, cutMiddle } from "core/text/cut_text.ts";
import {
  type AssistantPart,
  callsOf,
  type Message,
} from "units/agent_loop/conversation/message.ts";

/** What a model gets to see. */
export interface FittedHistory {
  readonly messages: readonly Message[];
  /** Turns left out, those of earlier fittings included. */
  readonly droppedTurns: number;
  readonly shortenedResults: number;
}

/** Bounds for `fitHistory`. */
export interface FitOptions {
  readonly budgetTokens: number;
  /** Turns that are already gone from `messages`. */
  readonly forgottenTurns?: number;
}

/**
 * Bytes per token of an estimate that errs on the high side: English prose has 4 to 5, code 3,
 * and a character of three bytes is seldom more than one token.
 */
const BYTES_PER_TOKEN = 3;
const MESSAGE_TOKENS = 8;
/** What stays of an old tool result. */
const SHORT_RESULT_BYTES = 1024;
/** Once turns must go, enough go that the next few turns need not drop again. */
const DROP_TO_SHARE = 0.7;
/** Lengths tried one after the other when a single turn does not fit. */
const LAST_RESORT_BYTES = [64 * 1024, 16 * 1024, 4096, 1024, 256, 96] as const;

/** Estimates the tokens of a text. */
export function textTokens(text: string): number {
  return Math.ceil(byteLength(text) / BYTES_PER_TOKEN);
}

/** Estimates the tokens of a message. */
export function messageTokens(message: Message): number {
  if (message.role !== "assistant") return MESSAGE_TOKENS + textTokens(message.text);
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

/** Fits a history into a number of tokens. The running turn is the last one. */
export function fitHistory(messages: readonly Message[], options: FitOptions): FittedHistory {
  const budget = options.budgetTokens;
  const forgotten = options.forgottenTurns ?? 0;
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

/** Room for the marker that tells of turns left out. */
const MARKER_TOKENS = 48;

function markDropped(messages: readonly Message[], dropped: number): readonly Message[] {
  const [first, ...rest] = messages;
  if (first?.role !== "user") return messages;
  const turns = dropped === 1 ? "1 earlier turn was" : `${dropped} earlier turns were`;
  return [{
    role: "user",
    text: `[${turns} left out to fit the model's window]\n\n${first.text}`,
  }, ...rest];
}

/** A turn begins with a message of the owner; what stands before the first one is dropped. */
function splitTurns(messages: readonly Message[]): readonly (readonly Message[])[] {
  const turns: Message[][] = [];
  for (const message of messages) {
    if (message.role === "user") turns.push([message]);
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

/** Fits one turn that is too large by itself. */
function fitTurn(
  turn: readonly Message[],
  budget: number,
): { readonly messages: readonly Message[]; readonly count: number } {
  let { messages, count } = shortenOldResults(turn, budget);
  messages = dropOldSteps(messages, budget);
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

/** Drops the oldest steps of a turn (an answer with the results of its calls), never the last. */
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
  return [{ role: "user", text: first.text + marker }, ...steps.flat()];
}

function cutMessage(message: Message, bytesMax: number): Message {
  if (message.role !== "assistant") {
    return { ...message, text: cutMiddle(message.text, bytesMax).text };
  }
  const calls = callsOf(message.parts);
  return {
    role: "assistant",
    parts: message.parts.flatMap((part): AssistantPart[] => {
      // A cut reasoning would not match its signature, and so would a part next to it.
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
