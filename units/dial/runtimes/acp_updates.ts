/**
 * Translation of ACP session updates into `RuntimeUpdate`s: deltas become whole messages, a tool
 * call is announced once with its arguments and answered once with its result, sizes stay within
 * `TURN_LIMITS`. Lenient by intent: any ACP agent may be at the other end, so unknown updates and
 * odd fields are skipped. No I/O; the clock is a parameter.
 *
 * @module
 */

import { TURN_LIMITS } from "core/limits.ts";
import type { Clock } from "core/ports.ts";
import { byteLength, cutMiddle, cutText, splitText } from "core/runtimes/cut_text.ts";
import type { RuntimeUpdate } from "core/runtimes/driver.ts";
import { isRecord } from "core/json_object.ts";

type Fields = Readonly<Record<string, unknown>>;
type ResultStatus = Extract<RuntimeUpdate, { kind: "tool_result" }>["status"];

interface OpenCall {
  mcp: string | undefined;
  tool: string;
  title: string;
  arguments: unknown;
  announced: boolean;
  text: string;
  readonly startedMs: number;
}

/** Longest name of a tool that is passed on. */
const TOOL_NAME_LENGTH_MAX = 256;

/** Turns the updates of one turn into `RuntimeUpdate`s, in order. */
export interface UpdateTranslator {
  /** Takes the `update` field of one `session/update` and returns what it amounts to. */
  translate(update: unknown): readonly RuntimeUpdate[];
  /** Ends the turn: completes the open message and stops calls that have no result. */
  finish(): readonly RuntimeUpdate[];
}

/** A message of the assistant that is still being written. */
interface OpenMessage {
  readonly id: string;
  readonly peerId: string | undefined;
  text: string;
  bytes: number;
}

interface TurnState {
  readonly turnId: string;
  readonly clock: Pick<Clock, "monotonic">;
  readonly calls: Map<string, OpenCall>;
  /** Calls that have their result; what an agent says of them later is dropped. */
  readonly answered: Set<string>;
  messages: number;
  open: OpenMessage | undefined;
}

/** Creates the translator of one turn; message ids are made unique with `turnId`. */
export function createTranslator(
  turnId: string,
  clock: Pick<Clock, "monotonic">,
): UpdateTranslator {
  const state: TurnState = {
    turnId,
    clock,
    calls: new Map(),
    answered: new Set(),
    messages: 0,
    open: undefined,
  };
  return {
    translate: (update) => isRecord(update) ? translateUpdate(state, update) : [],
    finish() {
      const updates = closeMessage(state);
      for (const [callId, call] of [...state.calls]) {
        updates.push(...answer(state, [callId, call], { status: "stopped" }));
      }
      return updates;
    },
  };
}

function translateUpdate(state: TurnState, update: Fields): readonly RuntimeUpdate[] {
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
      return onText(state, update);
    case "tool_call":
    case "tool_call_update":
      return onCall(state, update);
    case "notice":
      return [...closeMessage(state), ...noticeOf(update)];
    default:
      return [];
  }
}

function closeMessage(state: TurnState): RuntimeUpdate[] {
  if (state.open === undefined) return [];
  const { id, text } = state.open;
  state.open = undefined;
  return [{ kind: "message", messageId: id, text }];
}

function onText(state: TurnState, update: Fields): RuntimeUpdate[] {
  const text = textOf(update.content);
  if (text === "") return [];
  const peerId = typeof update.messageId === "string" ? update.messageId : undefined;
  const updates: RuntimeUpdate[] = [];
  if (state.open !== undefined && peerId !== state.open.peerId) {
    updates.push(...closeMessage(state));
  }
  for (const piece of splitText(text, TURN_LIMITS.messageBytesMax)) {
    const bytes = byteLength(piece);
    if (state.open !== undefined && state.open.bytes + bytes > TURN_LIMITS.messageBytesMax) {
      updates.push(...closeMessage(state));
    }
    state.open ??= { id: `${state.turnId}-m${++state.messages}`, peerId, text: "", bytes: 0 };
    state.open.text += piece;
    state.open.bytes += bytes;
    updates.push({ kind: "text_delta", messageId: state.open.id, text: piece });
  }
  return updates;
}

function onCall(state: TurnState, update: Fields): RuntimeUpdate[] {
  const callId = typeof update.toolCallId === "string" ? update.toolCallId.slice(0, 256) : "";
  if (callId === "" || state.answered.has(callId)) return [];
  const call = state.calls.get(callId) ?? newCall(state.clock.monotonic());
  state.calls.set(callId, call);
  const meta = metaOf(update);
  mergeCall(call, update, meta);
  const status = update.status;
  const isDone = status === "completed" || status === "failed";
  const isReady = isDone || status === "in_progress" || update.rawInput !== undefined;
  if (!isReady) return [];
  if (!isDone) return announce(state, callId, call);
  return answer(state, [callId, call], {
    status: meta.status ?? status,
    ...(meta.durationMs === undefined ? {} : { durationMs: meta.durationMs }),
    ...(meta.cutBytes === undefined ? {} : { cutBytes: meta.cutBytes }),
  });
}

function announce(state: TurnState, callId: string, call: OpenCall): RuntimeUpdate[] {
  if (call.announced) return [];
  call.announced = true;
  return [...closeMessage(state), {
    kind: "tool_call",
    callId,
    mcp: call.mcp,
    tool: call.tool,
    arguments: boundedArguments(call.arguments),
  }];
}

function answer(state: TurnState, [callId, call]: readonly [string, OpenCall], result: {
  readonly status: ResultStatus;
  readonly durationMs?: number;
  readonly cutBytes?: number;
}): RuntimeUpdate[] {
  state.calls.delete(callId);
  state.answered.add(callId);
  const cut = cutMiddle(call.text, TURN_LIMITS.toolResultBytesMax - 64);
  return [...announce(state, callId, call), {
    kind: "tool_result",
    callId,
    status: result.status,
    text: cut.text,
    cutBytes: cut.cutBytes + (result.cutBytes ?? 0),
    durationMs: result.durationMs ?? Math.max(0, state.clock.monotonic() - call.startedMs),
  }];
}

function newCall(startedMs: number): OpenCall {
  return {
    mcp: undefined,
    tool: "tool",
    title: "",
    arguments: {},
    announced: false,
    text: "",
    startedMs,
  };
}

function mergeCall(call: OpenCall, update: Fields, meta: ReturnType<typeof metaOf>): void {
  if (typeof update.title === "string" && update.title !== "") call.title = update.title;
  const name = meta.tool ?? (typeof update.name === "string" ? update.name : undefined);
  if (name !== undefined && name !== "") call.tool = name.slice(0, TOOL_NAME_LENGTH_MAX);
  else if (call.tool === "tool" && call.title !== "") {
    call.tool = call.title.slice(0, TOOL_NAME_LENGTH_MAX);
  }
  if (meta.mcp !== undefined) call.mcp = meta.mcp.slice(0, TOOL_NAME_LENGTH_MAX);
  if (update.rawInput !== undefined) call.arguments = update.rawInput;
  if (Array.isArray(update.content)) call.text = update.content.map(contentText).join("\n");
  else if (call.text === "" && update.rawOutput !== undefined) {
    call.text = typeof update.rawOutput === "string"
      ? update.rawOutput
      : JSON.stringify(update.rawOutput) ?? "";
  }
}

/** What our own runtime adds under `_meta.fleetctl`; absent from other agents. */
function metaOf(update: Fields): {
  readonly mcp?: string;
  readonly tool?: string;
  readonly status?: ResultStatus;
  readonly durationMs?: number;
  readonly cutBytes?: number;
} {
  const all = isRecord(update._meta) ? update._meta : {};
  const meta = isRecord(all.fleetctl) ? all.fleetctl : {};
  const status = meta.status;
  return {
    ...(typeof meta.mcp === "string" ? { mcp: meta.mcp } : {}),
    ...(typeof meta.tool === "string" ? { tool: meta.tool } : {}),
    ...(status === "denied" || status === "stopped" ? { status } : {}),
    ...(isCount(meta.duration_ms) ? { durationMs: meta.duration_ms } : {}),
    ...(isCount(meta.cut_bytes) ? { cutBytes: meta.cut_bytes } : {}),
  };
}

function noticeOf(update: Fields): RuntimeUpdate[] {
  const parts = [update.title, update.description].filter((part) => typeof part === "string");
  const text = cutText(parts.join(": "), TURN_LIMITS.messageBytesMax).text;
  return text === "" ? [] : [{ kind: "notice", text }];
}

function boundedArguments(value: unknown): unknown {
  const json = JSON.stringify(value) ?? "null";
  const cut = cutText(json, TURN_LIMITS.toolArgumentsBytesMax - 256);
  return cut.cutBytes === 0 ? value ?? {} : { beginning: cut.text, cut_bytes: cut.cutBytes };
}

function contentText(item: unknown): string {
  if (!isRecord(item)) return "";
  if (item.type === "diff" && typeof item.path === "string") return `[changed ${item.path}]`;
  if (item.type === "terminal") return "[terminal]";
  return textOf(item.content);
}

function textOf(content: unknown): string {
  if (!isRecord(content)) return "";
  if (typeof content.text === "string") return content.text;
  if (typeof content.uri === "string") return `[${content.uri}]`;
  return typeof content.type === "string" ? `[${content.type}]` : "";
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
