/**
 * Frames between a dial unit and the gateway, one JSON object per WebSocket text frame
 * (`docs/protocol.md`). Unknown fields are ignored and unknown types are skipped, so that versions
 * one minor release apart work together. No I/O. Why no broker: ADR 0029.
 *
 * @module
 */

import * as z from "zod";
import { conversationName } from "core/dial/conversation.ts";
import { durableEvent, previewEvent } from "core/dial/event.ts";
import { hostJob, hostJobProgress, hostJobResult } from "core/dial/host_job.ts";
import { questionValues } from "core/dial/question_wire.ts";
import { ANSWER_ACTIONS } from "core/questions/question.ts";
import { isRecord } from "core/text/json_object.ts";

/**
 * WebSocket subprotocol. The gateway sends its clients a `challenge` first; they may answer it with
 * a proof of their key.
 */
export const DIAL_SUBPROTOCOL = "fleetctl.dial.1";
/** Version of the frames; increases when a frame changes its meaning. */
export const DIAL_PROTOCOL = 1;

/** Close codes (RFC 6455 section 7.4.1 and the private range). */
export const CLOSE = {
  normal: 1000,
  goingAway: 1001,
  policyViolation: 1008,
  tooBig: 1009,
  /** The receiver cannot store at the moment; reconnect later. */
  tryAgainLater: 1013,
  /** Another connection registered as the same agent. */
  replaced: 4000,
} as const;

/** Reason of a `tryAgainLater`, and refusal code: the agent has used its share of the disk. */
export const AGENT_STORAGE_FULL = "agent-storage-full";

/** Dial unit → gateway. */
export const clientFrame = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("register"),
    user_email: z.string(),
    agent: z.string(),
    host: z.string().optional(),
    version: z.string().optional(),
    protocol: z.number().int().optional(),
    capabilities: z.array(z.string()).optional(),
    /** Identity of the sender's outbox; the numbers of a new one start at 1 again. */
    epoch: z.string().max(64).optional(),
    /** Last sequence number that the outbox has assigned in `epoch`. */
    last_seq: z.number().int().nonnegative().optional(),
    /**
     * Turns that the agent still has: accepted, and their end is not acknowledged yet. The gateway
     * ends any other delivered turn as lost.
     */
    open_turns: z.array(z.string().max(64)).max(1024).optional(),
    /** Raw Ed25519 public key, base64url. */
    key: z.string().max(64).optional(),
    /** Signature over `dialProofText(...)`, base64url. */
    proof: z.string().max(128).optional(),
  }),
  z.object({ type: z.literal("event"), event: durableEvent }),
  z.object({ type: z.literal("preview"), event: previewEvent }),
  /**
   * The turn is on the agent's disk: it runs at most once, and its end is reported. Sent again when
   * the turn arrives again.
   */
  z.object({ type: z.literal("turn_accepted"), turn_id: z.string().max(64) }),
  /** A message of this agent to another agent; `id` makes a repeated frame harmless. */
  z.object({
    type: z.literal("message"),
    id: z.string().min(1).max(64),
    to: z.string().max(64),
    text: z.string(),
  }),
  /** Requests the names of the agents that accept messages. */
  z.object({ type: z.literal("agents"), id: z.string().min(1).max(64) }),
  /** Team-chat gateway: a message to this agent's owner; `id` makes a repeated frame harmless. */
  z.object({
    type: z.literal("owner_message"),
    id: z.string().min(1).max(64),
    text: z.string(),
  }),
  /**
   * The agent has the bytes of a `file` before offset `next`. When `next` equals the size, the file
   * is on the agent's disk.
   */
  z.object({
    type: z.literal("file_taken"),
    turn_id: z.string().max(64),
    n: z.number().int().positive().max(64),
    next: z.number().int().nonnegative(),
  }),
  /** Team-chat gateway: a chunk of a file that the agent offers to its owner. */
  z.object({
    type: z.literal("owner_file"),
    id: z.string().min(1).max(64),
    name: z.string().min(1).max(256),
    description: z.string().max(1_000),
    size: z.number().int().positive(),
    offset: z.number().int().nonnegative(),
    /** Base64. */
    data: z.string(),
  }),
  /** Team-chat gateway: the agent has stored an `owner_event` on disk. */
  z.object({ type: z.literal("owner_event_taken"), id: z.string().min(1).max(64) }),
  z.object({ type: z.literal("bye"), reason: z.string() }),
  /** A host's own unit: the progress and the result of a job. */
  hostJobProgress,
  hostJobResult,
]);
/** Parsed frame of a dial unit. */
export type ClientFrame = z.infer<typeof clientFrame>;

/** A file of a turn. */
const turnFile = z.object({
  n: z.number().int().positive().max(64),
  name: z.string().max(256),
  size: z.number().int().nonnegative().optional(),
  content_type: z.string().max(128).optional(),
  /** Why the file is missing, in words. */
  fault: z.string().max(256).optional(),
});
/** Parsed file of a turn. */
export type TurnFile = z.infer<typeof turnFile>;

/** Gateway → dial unit. */
export const serverFrame = z.discriminatedUnion("type", [
  z.object({ type: z.literal("challenge"), nonce: z.string() }),
  z.object({
    type: z.literal("registered"),
    version: z.string(),
    protocol: z.number().int(),
    /** Highest event number of the client's epoch that the gateway has on disk. */
    acked_seq: z.number().int().nonnegative(),
    heartbeat_seconds: z.number(),
  }),
  z.object({ type: z.literal("ack"), seq: z.number().int().positive() }),
  z.object({
    type: z.literal("turn"),
    turn_id: z.string(),
    text: z.string(),
    origin: z.string(),
    created: z.number(),
    /**
     * Conversation of the turn; absent for the default one. Only to clients with the capability
     * `conversations`.
     */
    conversation: conversationName.optional(),
    /**
     * The turn's files. Each was sent before this frame in `file` frames, or has a `fault` that
     * says why it is missing.
     */
    files: z.array(turnFile).max(64).optional(),
  }),
  /** A chunk of a file whose turn follows; the next chunk follows after `file_taken`. */
  z.object({
    type: z.literal("file"),
    turn_id: z.string().max(64),
    n: z.number().int().positive().max(64),
    name: z.string().max(256),
    size: z.number().int().nonnegative(),
    offset: z.number().int().nonnegative(),
    /** Base64. */
    data: z.string(),
  }),
  /** Team-chat gateway: acknowledges an `owner_file` up to `next`; the next chunk may follow. */
  z.object({
    type: z.literal("owner_file_taken"),
    id: z.string(),
    next: z.number().int().nonnegative(),
  }),
  z.object({ type: z.literal("cancel"), turn_id: z.string() }),
  /**
   * The running turn may read this waiting one before its next model call. Only to clients with the
   * capability `steer`. Without effect if no turn runs, or its program accepts no messages.
   */
  z.object({ type: z.literal("steer"), turn_id: z.string() }),
  /**
   * A decision about an approval of this agent. The gateway repeats it until it knows how the
   * approval ended.
   */
  z.object({
    type: z.literal("approval_decision"),
    approval_id: z.string().max(64),
    digest: z.string().max(128),
    decision: z.enum(["approved", "denied"]),
    by: z.string(),
    surface: z.string(),
    reason: z.string().optional(),
  }),
  /**
   * An answer to a question of this agent. The gateway repeats it until it knows how the question
   * ended.
   */
  z.object({
    type: z.literal("question_answer"),
    question_id: z.string().max(64),
    action: z.enum(ANSWER_ACTIONS),
    values: questionValues.optional(),
    by: z.string(),
    surface: z.string(),
  }),
  /** Answer to `message`: the turn is stored for the other agent, or the reason why not. */
  z.object({
    type: z.literal("message_result"),
    id: z.string(),
    ok: z.boolean(),
    code: z.string().optional(),
    message: z.string().optional(),
  }),
  /**
   * Team-chat gateway: delivery outcome of the answer to a turn, so that an agent learns of a lost
   * answer.
   */
  z.object({
    type: z.literal("delivery"),
    turn_id: z.string(),
    outcome: z.string(),
    /** Ids of the platform's messages, in order. */
    ids: z.array(z.string()),
    reason: z.string().optional(),
  }),
  /** Team-chat gateway: delivery outcome of an `owner_message`. */
  z.object({
    type: z.literal("owner_message_result"),
    id: z.string(),
    outcome: z.string(),
    /** Ids of the platform's messages, in order. */
    ids: z.array(z.string()),
    reason: z.string().optional(),
  }),
  /** Team-chat gateway: the owner's reaction to an answer; repeated until it is acknowledged. */
  z.object({
    type: z.literal("owner_event"),
    id: z.string().min(1).max(64),
    kind: z.string().max(40),
    at: z.number(),
    /** The turn that was answered, and its creation time, if known. */
    turn_id: z.string().optional(),
    turn_created: z.number().optional(),
    payload: z.record(z.string(), z.unknown()),
  }),
  /** Answer to `agents`. */
  z.object({ type: z.literal("agents_result"), id: z.string(), names: z.array(z.string()) }),
  /** To a host's own unit: run one of the jobs of `core/dial/host_job.ts`. */
  hostJob,
  /** Planned shutdown: reconnect after this many milliseconds (jittered by the gateway). */
  z.object({ type: z.literal("closing"), reason: z.string(), retry_after_ms: z.number() }),
]);
/** Parsed frame of the gateway. */
export type ServerFrame = z.infer<typeof serverFrame>;

/** Result of decoding a received text. */
export type Decoded<F> =
  | { readonly kind: "frame"; readonly frame: F }
  /** A type that this version does not know: skip it. */
  | { readonly kind: "unknown"; readonly type: string }
  /** Not a frame, or a known type with invalid fields. */
  | { readonly kind: "garbage"; readonly why: string };

/** Decodes a frame of a dial unit. */
export function decodeClientFrame(text: string): Decoded<ClientFrame> {
  return decode(clientFrame, text);
}

/** Decodes a frame of the gateway. */
export function decodeServerFrame(text: string): Decoded<ServerFrame> {
  return decode(serverFrame, text);
}

type Union<F> = z.ZodType<F> & {
  readonly options: readonly { readonly shape: { type: z.ZodLiteral } }[];
};

/** Schemas by type, cached because every frame is looked up. */
const shapes = new WeakMap<object, ReadonlyMap<string, unknown>>();

function optionsOf<F>(union: Union<F>): ReadonlyMap<string, z.ZodType<F>> {
  let found = shapes.get(union);
  if (found === undefined) {
    found = new Map(union.options.map((option) => [String(option.shape.type.value), option]));
    shapes.set(union, found);
  }
  return found as ReadonlyMap<string, z.ZodType<F>>;
}

function decode<F>(schema: Union<F>, text: string): Decoded<F> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "garbage", why: "not JSON" };
  }
  if (!isRecord(value)) {
    return { kind: "garbage", why: "not an object" };
  }
  const { type } = value;
  if (typeof type !== "string") return { kind: "garbage", why: "no type" };
  const known = optionsOf(schema).get(type);
  if (known === undefined) return { kind: "unknown", type: type.slice(0, 40) };
  const parsed = known.safeParse(value);
  if (parsed.success) return { kind: "frame", frame: parsed.data };
  const issue = parsed.error.issues[0];
  return {
    kind: "garbage",
    why: `${type}.${issue?.path.join(".") ?? ""}: ${issue?.message ?? ""}`,
  };
}

/**
 * Returns the exact text that a dial key signs. It binds the nonce to the agent, its owner, its
 * host and the dialled gateway.
 */
export function dialProofText(of: {
  readonly nonce: string;
  readonly agent: string;
  readonly userEmail: string;
  readonly host: string;
  /** `host:port` as the client dialled it. */
  readonly gateway: string;
}): string {
  return ["fleetctl dial proof 1", of.nonce, of.agent, of.userEmail, of.host, of.gateway].join(
    "\n",
  );
}
