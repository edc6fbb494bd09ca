/**
 * Frames between a dial unit and the gateway, one JSON object per WebSocket text frame
 * (`docs/protocol.md`). Unknown fields are ignored, unknown types are skipped, so
 * that one minor version of skew works both ways. No I/O. Why no broker: ADR 0029.
 *
 * @module
 */

import { z } from "zod";
import { durableEvent, previewEvent } from "core/dial/event.ts";
import { hostJob, hostJobProgress, hostJobResult } from "core/dial/host_job.ts";
import { isRecord } from "core/text/json_object.ts";

/** Subprotocol whose clients get a `challenge` first and may prove a key. */
export const DIAL_SUBPROTOCOL = "fleetctl.dial.1";
/** Version of the frames; counts up when a frame changes meaning. */
export const DIAL_PROTOCOL = 1;

/** Close codes (RFC 6455 section 7.4.1 and the private range). */
export const CLOSE = {
  normal: 1000,
  goingAway: 1001,
  policyViolation: 1008,
  tooBig: 1009,
  /** The receiver cannot store at the moment; come back later. */
  tryAgainLater: 1013,
  /** Another connection registered as the same agent. */
  replaced: 4000,
} as const;

/** Reason of a `tryAgainLater`, and code of the refusal: the agent has its share of the disk. */
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
    /** Identity of the sender's outbox; a new one starts its numbers from 1 again. */
    epoch: z.string().max(64).optional(),
    /** Last number the outbox has given out in `epoch`. */
    last_seq: z.number().int().nonnegative().optional(),
    /** Turns accepted whose end is not acknowledged; others that were delivered are lost. */
    open_turns: z.array(z.string().max(64)).max(1024).optional(),
    /** Raw Ed25519 public key, base64url. */
    key: z.string().max(64).optional(),
    /** Signature over `dialProofText(...)`, base64url. */
    proof: z.string().max(128).optional(),
  }),
  z.object({ type: z.literal("event"), event: durableEvent }),
  z.object({ type: z.literal("preview"), event: previewEvent }),
  /** The turn is stored at the agent and will run exactly once; sent again for a repeated turn. */
  z.object({ type: z.literal("turn_accepted"), turn_id: z.string().max(64) }),
  /** A message of this agent to another one; `id` makes a repeated frame harmless. */
  z.object({
    type: z.literal("message"),
    id: z.string().min(1).max(64),
    to: z.string().max(64),
    text: z.string(),
  }),
  /** Asks for the names of the agents that can be written to. */
  z.object({ type: z.literal("agents"), id: z.string().min(1).max(64) }),
  /** Team-chat gateway: a message to this agent's owner; `id` makes a repeated frame harmless. */
  z.object({
    type: z.literal("owner_message"),
    id: z.string().min(1).max(64),
    text: z.string(),
  }),
  /** Bytes of a `file` that the agent holds; the last ones are on its disk. */
  z.object({
    type: z.literal("file_taken"),
    turn_id: z.string().max(64),
    n: z.number().int().positive().max(64),
    next: z.number().int().nonnegative(),
  }),
  /** Team-chat gateway: a piece of a file that the owner is offered. */
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
  /** Team-chat gateway: the agent has an `owner_event` on its own disk. */
  z.object({ type: z.literal("owner_event_taken"), id: z.string().min(1).max(64) }),
  z.object({ type: z.literal("bye"), reason: z.string() }),
  /** A host's own unit: where a job stands, and how it ended. */
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
  /** Why it is not there, in words. */
  fault: z.string().max(256).optional(),
});
/** A file of a turn. */
export type TurnFile = z.infer<typeof turnFile>;

/** Gateway → dial unit. */
export const serverFrame = z.discriminatedUnion("type", [
  z.object({ type: z.literal("challenge"), nonce: z.string() }),
  z.object({
    type: z.literal("registered"),
    version: z.string(),
    protocol: z.number().int(),
    /** Last number of the client's epoch that is stored at the gateway. */
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
    /** Files that came with it: handed over before, in `file` frames, or why one is not there. */
    files: z.array(turnFile).max(64).optional(),
  }),
  /** A piece of a file of a turn that follows; the next piece comes after `file_taken`. */
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
  /** Team-chat gateway: bytes of an `owner_file` that it holds; the next piece may come. */
  z.object({
    type: z.literal("owner_file_taken"),
    id: z.string(),
    next: z.number().int().nonnegative(),
  }),
  z.object({ type: z.literal("cancel"), turn_id: z.string() }),
  /** What somebody decided about an approval of this agent; sent again until its end is known. */
  z.object({
    type: z.literal("approval_decision"),
    approval_id: z.string().max(64),
    digest: z.string().max(128),
    decision: z.enum(["approved", "denied"]),
    by: z.string(),
    surface: z.string(),
    reason: z.string().optional(),
  }),
  /** Answer to `message`: the turn is stored for the other agent, or why not. */
  z.object({
    type: z.literal("message_result"),
    id: z.string(),
    ok: z.boolean(),
    code: z.string().optional(),
    message: z.string().optional(),
  }),
  /**
   * Team-chat gateway: what became of the answer to a turn, so that no agent believes a
   * lost one sent.
   */
  z.object({
    type: z.literal("delivery"),
    turn_id: z.string(),
    outcome: z.string(),
    /** Ids of the platform's messages, in order. */
    ids: z.array(z.string()),
    reason: z.string().optional(),
  }),
  /** Team-chat gateway: what became of an `owner_message`. */
  z.object({
    type: z.literal("owner_message_result"),
    id: z.string(),
    outcome: z.string(),
    /** Ids of the platform's messages, in order. */
    ids: z.array(z.string()),
    reason: z.string().optional(),
  }),
  /** Team-chat gateway: what the owner did with an answer; sent again until it is taken. */
  z.object({
    type: z.literal("owner_event"),
    id: z.string().min(1).max(64),
    kind: z.string().max(40),
    at: z.number(),
    /** The turn whose answer it is about, and when it was asked for, where that is known. */
    turn_id: z.string().optional(),
    turn_created: z.number().optional(),
    payload: z.record(z.string(), z.unknown()),
  }),
  /** Answer to `agents`. */
  z.object({ type: z.literal("agents_result"), id: z.string(), names: z.array(z.string()) }),
  /** To a host's own unit: run one of the jobs of `core/dial/host_job.ts`. */
  hostJob,
  /** Planned shutdown: come back after this long (jittered by the gateway). */
  z.object({ type: z.literal("closing"), reason: z.string(), retry_after_ms: z.number() }),
]);
/** Parsed frame of the gateway. */
export type ServerFrame = z.infer<typeof serverFrame>;

/** What a received text turned out to be. */
export type Decoded<F> =
  | { readonly kind: "frame"; readonly frame: F }
  /** A type that this version does not know: skip it. */
  | { readonly kind: "unknown"; readonly type: string }
  /** No frame at all, or a known type with fields that do not fit. */
  | { readonly kind: "garbage"; readonly why: string };

/** Reads a frame of a dial unit. */
export function decodeClientFrame(text: string): Decoded<ClientFrame> {
  return decode(clientFrame, text);
}

/** Reads a frame of the gateway. */
export function decodeServerFrame(text: string): Decoded<ServerFrame> {
  return decode(serverFrame, text);
}

type Union<F> = z.ZodType<F> & {
  readonly options: readonly { readonly shape: { type: z.ZodLiteral } }[];
};

/** The shape of each type, found once: every frame asks for it. */
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
 * Returns the exact text that a dial key signs; binds the nonce to who, where and to which gateway.
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
