/**
 * Events of an agent: durable ones, which are stored and replayed, and previews, which are shown
 * and dropped. Wire schemas with zod; documented in `docs/protocol.md`. No I/O.
 *
 * @module
 */

import { FORM_SHAPE, isBounded, questionValues } from "core/dial/question_wire.ts";
import { ANSWER_ACTIONS } from "core/questions/question.ts";
import * as z from "zod";
import { conversationName } from "core/dial/conversation.ts";
import { IMAGE_TYPES } from "core/images/image.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import { IMAGE_LIMITS } from "core/limits/image.ts";
import { PLAN_LIMITS, PLAN_STATES } from "core/limits/plan.ts";
import { USAGE_LIMITS } from "core/limits/usage.ts";

/** Agent process states. `offline` is never sent: the gateway derives it. */
export const AGENT_STATES = [
  "stopped",
  "starting",
  "idle",
  "working",
  "waiting-approval",
  "stopping",
  "failed",
] as const;
/** One of `AGENT_STATES`. */
export type AgentState = typeof AGENT_STATES[number];
/**
 * Reason of the state `idle` while the agent's program sleeps: it has ended, and the next turn
 * starts it. Not a state, so that an older gateway shows the agent as idle.
 */
export const ASLEEP = "asleep";

const turnId = z.string().min(1).max(64);
const questionId = z.string().min(1).max(64);

/** Latest time that a `Date` can represent, in milliseconds. */
const MOMENT_MAX = 8.64e15;
/**
 * Milliseconds since the epoch by another machine's clock, which may be set to anything. Clamped to
 * the range of whole milliseconds that stores and dates can represent, because the event itself is
 * still valid.
 */
const moment = z.number().overwrite((ms) => Math.trunc(Math.min(Math.max(ms, 0), MOMENT_MAX)));

/** Number of tokens. */
const tokens = z.number().int().nonnegative().max(USAGE_LIMITS.tokensMax);

/** A file of a turn. It has a type and a size in pixels if its bytes are those of an image. */
const attachmentInfo = z.object({
  /** Its number in the turn. */
  n: z.number().int().positive().max(FILE_LIMITS.perTurnMax),
  name: z.string().max(256),
  /** Bytes. */
  size: z.number().int().nonnegative(),
  media_type: z.enum(IMAGE_TYPES).optional(),
  width: z.number().int().positive().max(IMAGE_LIMITS.sidePixelsMax).optional(),
  height: z.number().int().positive().max(IMAGE_LIMITS.sidePixelsMax).optional(),
});
/** Parsed file of a turn. */
export type AttachmentInfo = z.infer<typeof attachmentInfo>;
const attachments = z.array(attachmentInfo).max(64).optional();

/** Payloads of durable events by kind. Unknown fields are dropped. */
export const EVENT_PAYLOADS = {
  /** Gateway: a turn was accepted and stored. This is the owner's message. */
  turn_queued: z.object({
    text: z.string(),
    origin: z.string(),
    /** Messages between agents that led to this turn; 0 if the owner wrote it. */
    hops: z.number().int().nonnegative().default(0),
    /** Absent for the default conversation. */
    conversation: conversationName.optional(),
  }),
  /** Gateway: the agent's dial unit has stored the turn; it runs at most once. */
  turn_delivered: z.object({}),
  /** Agent: a turn requested on its own host; `by` is the requester, as root stated it. */
  turn_asked: z.object({
    text: z.string(),
    by: z.string(),
    conversation: conversationName.optional(),
    files: attachments,
  }),
  /** Agent: the turn was passed to the runtime. `steers`: it accepts messages while it runs. */
  turn_started: z.object({ steers: z.literal(true).optional() }),
  /**
   * Agent: the running turn has read a message that waited as the turn `from`, which then ends with
   * code `steered`.
   */
  turn_steered: z.object({
    from: turnId,
    text: z.string(),
    cut_bytes: z.number().int().nonnegative().default(0),
  }),
  /** Agent: a whole message of the assistant. */
  message: z.object({
    message_id: z.string(),
    role: z.literal("assistant"),
    text: z.string(),
    cut_bytes: z.number().int().nonnegative().default(0),
  }),
  /** Agent: a tool call; `mcp` is null for a built-in tool. */
  tool_call: z.object({
    call_id: z.string(),
    mcp: z.string().nullable(),
    tool: z.string(),
    arguments: z.unknown(),
    cut_bytes: z.number().int().nonnegative().default(0),
  }),
  /** Agent: the result of a call. */
  tool_result: z.object({
    call_id: z.string(),
    status: z.enum(["completed", "failed", "denied", "stopped"]),
    text: z.string(),
    cut_bytes: z.number().int().nonnegative().default(0),
    duration_ms: z.number().nonnegative(),
  }),
  /** Agent: an image that the program or a tool produced. */
  attachment: attachmentInfo.extend({
    /** The call whose result contains it. */
    call_id: z.string().optional(),
    /** Where it is in the agent's home. */
    path: z.string().max(4_096),
  }),
  /** Agent; or gateway, when a turn is refused, withdrawn before delivery, or lost by the agent. */
  turn_ended: z.object({
    outcome: z.enum(["completed", "cancelled", "failed", "interrupted"]),
    code: z.string().optional(),
    reason: z.string().optional(),
  }),
  /** Agent: its process state changed. */
  agent_state: z.object({
    state: z.enum(AGENT_STATES),
    reason: z.string().optional(),
    since: moment,
  }),
  /** Agent: a call waits for a human; contains everything that the decision is about. */
  approval_asked: z.object({
    approval_id: z.string().min(1).max(64),
    /** Null for a tool of the runtime itself. */
    mcp: z.string().nullable(),
    version: z.string(),
    tool: z.string(),
    arguments: z.record(z.string(), z.unknown()),
    origin: z.string(),
    is_destructive: z.boolean(),
    expires: moment,
    /** A decision must repeat this digest, so that it applies to this call only. */
    digest: z.string().max(128),
  }),
  /** Agent: a human decided; the first decision is final. */
  approval_decided: z.object({
    approval_id: z.string().min(1).max(64),
    decision: z.enum(["approved", "denied"]),
    by: z.string(),
    surface: z.string(),
    reason: z.string().optional(),
  }),
  /** Agent: the approval is closed. `delivered` ends a denial, `applied` an approved call. */
  approval_ended: z.object({
    approval_id: z.string().min(1).max(64),
    state: z.enum(["delivered", "applied", "expired", "superseded"]),
  }),
  /** Agent: the tokens of a turn by model, at most once, before its end. */
  usage: z.object({
    models: z.array(z.object({
      model: z.string().min(1).max(USAGE_LIMITS.modelLengthMax),
      /** Without those that the provider read from a cache, or wrote to one. */
      input_tokens: tokens,
      output_tokens: tokens,
      cached_read_tokens: tokens,
      cached_write_tokens: tokens,
    })).min(1).max(USAGE_LIMITS.modelsPerTurnMax),
    /** The turn used more than this: the runtime did not count all of its model calls. */
    is_partial: z.literal(true).optional(),
  }),
  /** Agent: a program asks a person; contains the whole form. */
  question_asked: z.object({ question_id: questionId, ...FORM_SHAPE, expires: moment })
    .refine(isBounded),
  /** Agent: a person answered or declined; the first answer is final. */
  question_answered: z.object({
    question_id: questionId,
    action: z.enum(ANSWER_ACTIONS),
    values: questionValues.optional(),
    by: z.string(),
    surface: z.string(),
  }),
  /** Agent: the question is closed. `delivered`: the program has the answer. */
  question_ended: z.object({
    question_id: questionId,
    state: z.enum(["delivered", "expired", "withdrawn"]),
  }),
  /** Agent: the todo list of the turn; it replaces the one before. */
  plan: z.object({
    entries: z.array(z.object({
      text: z.string().max(PLAN_LIMITS.entryLengthMax),
      state: z.enum(PLAN_STATES),
    })).max(PLAN_LIMITS.entriesMax),
  }),
  /** Agent: the summary that replaces earlier messages for the model. */
  summary: z.object({
    summary_id: z.string().min(1).max(64),
    text: z.string(),
    by: z.enum(["model", "owner"]),
    cut_bytes: z.number().int().nonnegative().default(0),
  }),
  /** Agent: something the owner should know, such as "this is the demo model". */
  notice: z.object({ text: z.string() }),
} as const;

/** Kind of a durable event. */
export type EventKind = keyof typeof EVENT_PAYLOADS;

/** A durable event with its sender's number: `seq` counts from 1 without gaps within `epoch`. */
export const durableEvent = z.object({
  seq: z.number().int().positive(),
  /** Milliseconds since the epoch, by the sender's clock. */
  at: moment,
  turn_id: turnId.optional(),
  /** A key of `EVENT_PAYLOADS`, or a kind that only a newer sender knows. */
  kind: z.string().regex(/^[a-z][a-z_]{0,39}$/),
  payload: z.record(z.string(), z.unknown()),
});
/** Parsed durable event; its payload still needs `readAgentEvent`. */
export type DurableEvent = z.infer<typeof durableEvent>;

/** Kinds that only the gateway writes; from an agent they would forge a message of the owner. */
const GATEWAY_KINDS: ReadonlySet<string> = new Set(["turn_queued", "turn_delivered"]);

/** Tells whether this version knows the payload of `kind`. */
export function isEventKind(kind: string): kind is EventKind {
  return Object.hasOwn(EVENT_PAYLOADS, kind);
}

/**
 * Returns what to store for an event of an agent. A kind of a newer version is kept unchanged. An
 * invalid payload, or a kind reserved for the gateway, becomes a notice. Its sequence number must
 * still be stored, or the sender's outbox would resend it for ever.
 */
export function readAgentEvent(
  event: DurableEvent,
): { readonly kind: string; readonly payload: Record<string, unknown> } {
  const { kind, payload } = event;
  if (GATEWAY_KINDS.has(kind)) return unreadable(kind);
  if (!isEventKind(kind)) return { kind, payload };
  const parsed = EVENT_PAYLOADS[kind].safeParse(payload);
  return parsed.success ? { kind, payload: parsed.data } : unreadable(kind);
}

function unreadable(kind: string) {
  return { kind: "notice", payload: { text: `An event of kind "${kind}" could not be read` } };
}

/** A preview: not stored, not numbered, dropped first when a buffer is full. */
export const previewEvent = z.object({
  turn_id: turnId,
  kind: z.literal("text_delta"),
  payload: z.object({
    message_id: z.string(),
    text: z.string(),
    /** Characters of the message before this text, so that a reader detects a dropped preview. */
    offset: z.number().int().nonnegative().optional(),
  }),
});
/** Parsed preview. */
export type PreviewEvent = z.infer<typeof previewEvent>;
