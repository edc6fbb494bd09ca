/**
 * The conversation as the runtime stores it: the owner's messages, the model's answers, tool
 * results. Records are lines of the session file (docs/storage.md); messages are what a model sees.
 * A tool call has exactly one result, which follows it before any other message. No I/O.
 *
 * @module
 */

import * as z from "zod";
import { PLAN_STATES } from "core/limits/plan.ts";
import { defined } from "core/defined.ts";
import { type MediaRef, mediaRefs } from "units/agent_loop/media/media.ts";

/** Data that a provider attached to a part; it must be sent back unchanged. */
const providerOptions = z.record(z.string(), z.record(z.string(), z.unknown())).optional();

const assistantPart = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string(), provider_options: providerOptions }),
  z.object({ type: z.literal("reasoning"), text: z.string(), provider_options: providerOptions }),
  z.object({
    type: z.literal("call"),
    call_id: z.string(),
    tool: z.string(),
    arguments: z.unknown(),
    provider_options: providerOptions,
  }),
]);

/** How a tool call ended. */
const RESULT_STATUSES = ["completed", "failed", "denied", "stopped"] as const;
/** One of `RESULT_STATUSES`. */
export type ResultStatus = typeof RESULT_STATUSES[number];

const countedTokens = z.object({
  input: z.number(),
  output: z.number(),
  cached_read: z.number(),
  cached_write: z.number(),
}).optional();

/**
 * One line of a session file. Unknown types are skipped, so that an older runtime can read the
 * file.
 */
export const sessionRecord = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("session"),
    version: z.literal(1),
    id: z.string(),
    at: z.number(),
    cwd: z.string(),
    /** Number of turns that were removed from this file. */
    forgotten_turns: z.number().int().nonnegative().optional(),
  }),
  z.object({
    type: z.literal("user"),
    at: z.number(),
    turn_id: z.string().optional(),
    text: z.string(),
    media: mediaRefs,
  }),
  z.object({
    type: z.literal("assistant"),
    at: z.number(),
    parts: z.array(assistantPart),
    /** How the answer ended; absent when it broke off. */
    finish: z.string().optional(),
    /** Calls whose arguments were unusable, and why. */
    bad_calls: z.array(z.object({ call_id: z.string(), reason: z.string() })).optional(),
    /** The model that answered, if it was not the primary one. */
    model: z.string().optional(),
    /** What the endpoint counted. */
    tokens: countedTokens,
  }),
  z.object({
    type: z.literal("result"),
    at: z.number(),
    call_id: z.string(),
    tool: z.string(),
    status: z.enum(RESULT_STATUSES),
    text: z.string(),
    media: mediaRefs,
    duration_ms: z.number().optional(),
  }),
  z.object({
    type: z.literal("end"),
    at: z.number(),
    outcome: z.enum(["completed", "cancelled", "failed", "interrupted"]),
    code: z.string().optional(),
    reason: z.string().optional(),
  }),
  /** The todo list; it replaces the one before. */
  z.object({
    type: z.literal("plan"),
    at: z.number(),
    entries: z.array(z.object({ text: z.string(), state: z.enum(PLAN_STATES) })),
  }),
  /** A message that the owner sent into the running turn. */
  z.object({ type: z.literal("steer"), at: z.number(), id: z.string(), text: z.string() }),
  z.object({
    type: z.literal("summary"),
    at: z.number(),
    id: z.string(),
    /** Replaces the records before the kept ones for later prompts. */
    text: z.string(),
    /** Number of records before this one that stay visible to the model. */
    kept: z.number().int().nonnegative(),
    by: z.enum(["model", "owner"]),
    /** The model that wrote it, if it was not the primary one. */
    model: z.string().optional(),
    /** What the endpoint counted for the request of the summary. */
    tokens: countedTokens,
  }),
]);
/** Parsed line of a session file. */
export type SessionRecord = z.infer<typeof sessionRecord>;
/** A message that the owner sent into the running turn. */
export type SteerRecord = Extract<SessionRecord, { type: "steer" }>;
/** A summary of the older part of the conversation. */
export type SummaryRecord = Extract<SessionRecord, { type: "summary" }>;

/** One part of an answer. */
export type AssistantPart = z.infer<typeof assistantPart>;
/** A tool call in an answer. */
export type CallPart = Extract<AssistantPart, { type: "call" }>;

/** A message as a model sees it. */
export type Message =
  | {
    readonly role: "user";
    readonly text: string;
    readonly media?: readonly MediaRef[];
    /** The owner sent it into the running turn, so no turn begins here. */
    readonly isSteer?: true;
  }
  | { readonly role: "assistant"; readonly parts: readonly AssistantPart[] }
  | {
    readonly role: "tool";
    readonly callId: string;
    readonly tool: string;
    readonly status: ResultStatus;
    readonly text: string;
    readonly media?: readonly MediaRef[];
  };

/** Result text that a model reads when a crash lost the real result. */
export const INTERRUPTED_TEXT =
  "[interrupted: the runtime ended while this call ran; whether it took effect is unknown]";

/** Returns whether a part has content: text, a call, or data that its provider needs back. */
export function isWorthKeeping(part: AssistantPart): boolean {
  return part.type === "call" || part.text !== "" || part.provider_options !== undefined;
}

/** Returns the tool calls of an answer. */
export function callsOf(parts: readonly AssistantPart[]): readonly CallPart[] {
  return parts.filter((part) => part.type === "call");
}

/**
 * Converts records into messages that every provider accepts. A call without a result gets a
 * synthetic one. A result without a call is dropped. A turn without an answer ends with a message
 * that states so.
 */
export function messagesOf(records: readonly SessionRecord[]): readonly Message[] {
  const messages: Message[] = [];
  let open = new Map<string, CallPart>();
  const settle = () => {
    for (const call of open.values()) {
      messages.push({
        role: "tool",
        callId: call.call_id,
        tool: call.tool,
        status: "stopped",
        text: INTERRUPTED_TEXT,
      });
    }
    open = new Map();
  };
  for (const record of records) {
    switch (record.type) {
      case "session":
      case "plan":
      case "summary":
        break;
      case "user":
        settle();
        closeTurn(messages, "the runtime ended before an answer was complete");
        messages.push({ role: "user", text: record.text, ...defined({ media: record.media }) });
        break;
      case "steer":
        settle();
        addSteer(messages, record.text);
        break;
      case "assistant": {
        settle();
        const parts = withUniqueCalls(record.parts, open);
        if (parts.length > 0) messages.push({ role: "assistant", parts });
        break;
      }
      case "result": {
        const call = open.get(record.call_id);
        if (call === undefined) break;
        open.delete(record.call_id);
        messages.push({
          role: "tool",
          callId: record.call_id,
          tool: call.tool,
          status: record.status,
          text: record.text,
          ...defined({ media: record.media }),
        });
        break;
      }
      case "end":
        settle();
        closeTurn(messages, record.reason ?? record.outcome);
        break;
    }
  }
  settle();
  return messages;
}

/** Adds a message of the owner within a turn; some endpoints refuse two in a row. */
function addSteer(messages: Message[], text: string): void {
  const last = messages.at(-1);
  if (last?.role !== "user") messages.push({ role: "user", text, isSteer: true });
  else messages[messages.length - 1] = { ...last, text: `${last.text}\n\n${text}` };
}

/** Collects an answer's calls into `open`; drops calls with a repeated id. */
function withUniqueCalls(
  parts: readonly AssistantPart[],
  open: Map<string, CallPart>,
): readonly AssistantPart[] {
  return parts.filter((part) => {
    if (part.type !== "call") return isWorthKeeping(part);
    if (open.has(part.call_id)) return false;
    open.set(part.call_id, part);
    return true;
  });
}

/** Ends a turn with a message of the assistant, because some endpoints require it. */
function closeTurn(messages: Message[], reason: string): void {
  const last = messages.at(-1);
  if (last === undefined || (last.role === "assistant" && callsOf(last.parts).length === 0)) return;
  messages.push({
    role: "assistant",
    parts: [{ type: "text", text: `[the turn ended without an answer: ${reason}]` }],
  });
}
