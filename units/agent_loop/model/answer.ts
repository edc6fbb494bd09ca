/**
 * Collects the streamed answer of a model: text, reasoning and tool calls in order, how it ended,
 * and whether it ended. No I/O.
 *
 * @module
 */

import type { LanguageModelUsage } from "ai";
import { defined } from "core/defined.ts";
import { type AssistantPart, isWorthKeeping } from "units/agent_loop/conversation/message.ts";

/** A call whose arguments could not be read, or whose tool does not exist. */
export interface BadCall {
  readonly callId: string;
  readonly reason: string;
}

/** Why the model stopped. */
export type StepFinish = "stop" | "tool-calls" | "length" | "content-filter" | "aborted";

/** Tokens of one answer; each is counted in one field. */
export interface AnswerTokens {
  readonly input: number;
  readonly output: number;
  readonly cachedRead: number;
  readonly cachedWrite: number;
}

/** The whole answer of one model call. */
export interface StepAnswer {
  readonly parts: readonly AssistantPart[];
  readonly badCalls: readonly BadCall[];
  readonly finish: StepFinish;
  /** Undefined when the endpoint reported none. */
  readonly tokens: AnswerTokens | undefined;
}

/** The effect of a part of the stream for its reader. */
export type StepEvent =
  | { readonly kind: "text"; readonly text: string; readonly block: string }
  | { readonly kind: "error"; readonly error: unknown }
  | undefined;

/** An answer that is being collected. */
export interface OpenAnswer {
  /** Adds one part of the `ai` library's stream. */
  take(part: unknown): StepEvent;
  /** The texts so far. */
  texts(): readonly AssistantPart[];
  /** Whether any content has arrived. */
  hasStarted(): boolean;
  /** Whether the stream stated how the answer ended. A stream that was cut off does not. */
  isFinished(): boolean;
  whole(): StepAnswer;
  /** The answer after a cancel: it keeps the text, but not the calls, which never ran. */
  aborted(): StepAnswer;
}

type StreamPart = { readonly type: string } & Readonly<Record<string, unknown>>;
type Usage = Partial<Pick<LanguageModelUsage, "inputTokens" | "outputTokens">> & {
  readonly inputTokenDetails?: Partial<LanguageModelUsage["inputTokenDetails"]>;
};
type TextBlock = Extract<AssistantPart, { type: "text" | "reasoning" }>;

interface AnswerState {
  readonly blocks: Map<string, TextBlock>;
  readonly parts: AssistantPart[];
  readonly badCalls: BadCall[];
  started: boolean;
  finish:
    | { readonly reason: unknown; readonly raw: unknown; readonly usage: unknown }
    | undefined;
}

/** Creates an empty answer. */
export function createAnswer(): OpenAnswer {
  const state: AnswerState = {
    blocks: new Map(),
    parts: [],
    badCalls: [],
    started: false,
    finish: undefined,
  };
  const texts = () => state.parts.filter((part) => part.type === "text" && part.text !== "");
  const answer = (reason: StepFinish, kept: readonly AssistantPart[]): StepAnswer => ({
    parts: kept,
    badCalls: state.badCalls,
    finish: reason,
    tokens: tokensOf(state.finish?.usage),
  });
  return {
    take: (part) => takePart(state, part as StreamPart),
    texts,
    hasStarted: () => state.started,
    isFinished: () => isFinished(state.finish),
    aborted: () => answer("aborted", texts()),
    whole: () =>
      answer(finishOf(state.finish?.reason, state.parts), state.parts.filter(isWorthKeeping)),
  };
}

function takePart(state: AnswerState, part: StreamPart): StepEvent {
  switch (part.type) {
    case "text-start":
    case "text-end":
      blockOf(state, part, "text");
      return undefined;
    case "text-delta":
      state.started = true;
      blockOf(state, part, "text").text += String(part.text);
      return { kind: "text", text: String(part.text), block: String(part.id) };
    case "reasoning-start":
    case "reasoning-end":
      blockOf(state, part, "reasoning");
      return undefined;
    case "reasoning-delta":
      blockOf(state, part, "reasoning").text += String(part.text);
      return undefined;
    case "tool-call":
      state.started = true;
      takeCall(state, part);
      return undefined;
    case "finish-step":
      state.finish = { reason: part.finishReason, raw: part.rawFinishReason, usage: part.usage };
      return undefined;
    case "error":
      return { kind: "error", error: part.error };
    default:
      return undefined;
  }
}

/**
 * Whether the finish reason is a real end. A stream that was cut off cleanly ends as "interrupted",
 * or as "other" without a raw reason.
 */
function isFinished(finish: AnswerState["finish"]): boolean {
  return finish !== undefined && finish.reason !== "error" && finish.reason !== "interrupted" &&
    !(finish.reason === "other" && finish.raw === undefined);
}

/** Returns the block that a part belongs to, or creates it. */
function blockOf(state: AnswerState, part: StreamPart, type: TextBlock["type"]): TextBlock {
  const key = `${type}:${String(part.id)}`;
  const known = part.type === `${type}-start` ? undefined : state.blocks.get(key);
  const block: TextBlock = known ?? { type, text: "" };
  if (known === undefined) {
    state.blocks.set(key, block);
    state.parts.push(block);
  }
  const options = part.providerMetadata as AssistantPart["provider_options"];
  if (options !== undefined) block.provider_options = options;
  return block;
}

function takeCall(state: AnswerState, part: StreamPart): void {
  const callId = String(part.toolCallId);
  const options = part.providerMetadata as AssistantPart["provider_options"];
  state.parts.push({
    type: "call",
    call_id: callId,
    tool: String(part.toolName),
    // Providers would refuse arguments that are not an object when the history is sent again.
    arguments: typeof part.input === "object" && part.input !== null ? part.input : {},
    ...defined({ provider_options: options }),
  });
  if (part.invalid === true) {
    const error = part.error as Error | undefined;
    const reason = error?.message ?? "the arguments are not valid JSON";
    state.badCalls.push({ callId, reason });
  }
}

function finishOf(reason: unknown, parts: readonly AssistantPart[]): StepFinish {
  // Some endpoints report "stop" despite tool calls.
  if (parts.some((part) => part.type === "call") && reason !== "length") return "tool-calls";
  return reason === "length" || reason === "content-filter" ? reason : "stop";
}

/** Reads the usage of the `ai` library, whose input includes the cached tokens. */
function tokensOf(usage: unknown): AnswerTokens | undefined {
  const { inputTokens, outputTokens, inputTokenDetails } = (usage ?? {}) as Usage;
  if (typeof inputTokens !== "number" || typeof outputTokens !== "number") return undefined;
  const { cacheReadTokens: cachedRead = 0, cacheWriteTokens: cachedWrite = 0 } =
    inputTokenDetails ?? {};
  const input = inputTokens - cachedRead - cachedWrite;
  return { input, output: outputTokens, cachedRead, cachedWrite };
}
