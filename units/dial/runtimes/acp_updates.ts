/**
 * Translates ACP session updates into `RuntimeUpdate`s. Deltas become whole messages. A tool call
 * is announced with its arguments and answered once with its result. Sizes stay within
 * `TURN_LIMITS`. Unknown updates and fields are skipped, because any ACP agent may be the peer. No
 * I/O; the clock is a parameter.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { TURN_LIMITS } from "core/limits/turn.ts";
import type { Clock } from "core/ports/clock.ts";
import { byteLength, cutMiddle, cutText } from "core/text/cut_text.ts";
import { imageWords, readBase64Image } from "core/images/image.ts";
import { planOf } from "units/dial/runtimes/acp_plan.ts";
import type { ProducedImage, RuntimeUpdate } from "units/dial/runtimes/driver.ts";
import { mcpToolOf } from "units/dial/runtimes/mcp_tool_name.ts";
import { isRecord } from "core/text/json_object.ts";

type Fields = Readonly<Record<string, unknown>>;
type ResultStatus = Extract<RuntimeUpdate, { kind: "tool_result" }>["status"];

/** What the program has reported about a call. */
export interface KnownCall {
  readonly mcp: string | undefined;
  readonly tool: string;
  readonly arguments: unknown;
  /** Whether the tool's name cannot belong to another MCP. */
  readonly isClear: boolean;
  /** Kind and places of the call, as the program reports them. */
  readonly kind: string | undefined;
  readonly locations: unknown;
}

interface OpenCall extends KnownCall {
  mcp: string | undefined;
  tool: string;
  isClear: boolean;
  kind: string | undefined;
  locations: unknown;
  title: string;
  arguments: unknown;
  /** The last announced arguments, as JSON. */
  announced: string | undefined;
  text: string;
  /** Images of the result. */
  images: readonly ProducedImage[];
  readonly startedMs: number;
}

/** Name of a tool until the program names it. */
const UNNAMED = "tool";
/** Maximum length of a tool name, in characters. */
const TOOL_NAME_LENGTH_MAX = 256;

/** Converts the updates of one turn into `RuntimeUpdate`s, in order. */
export interface UpdateTranslator {
  /** Converts the `update` field of one `session/update`. */
  translate(update: unknown): readonly RuntimeUpdate[];
  /** Returns what is known of a call without a result. */
  callOf(callId: string): KnownCall | undefined;
  /** Marks a call as denied; its result is reported as denied. */
  deny(callId: string): void;
  /** Ends the turn: completes the open message and stops calls that have no result. */
  finish(): readonly RuntimeUpdate[];
}

/** A message of the assistant that is not complete. */
interface OpenMessage {
  readonly id: string;
  readonly peerId: string | undefined;
  text: string;
  bytes: number;
}

interface TurnState {
  readonly turnId: string;
  readonly clock: Pick<Clock, "monotonic">;
  /** Names of the MCPs that the program received. */
  readonly servers: readonly string[];
  readonly calls: Map<string, OpenCall>;
  /** Calls that were denied. */
  readonly denied: Set<string>;
  /** Calls that have their result; later updates about them are dropped. */
  readonly answered: Set<string>;
  messages: number;
  open: OpenMessage | undefined;
}

/**
 * Creates the translator of one turn; `turnId` makes message ids unique. `servers` are the MCPs
 * that the program received. They resolve tool names of the form `<server>_<tool>`.
 */
export function createTranslator(
  turnId: string,
  clock: Pick<Clock, "monotonic">,
  servers: readonly string[] = [],
): UpdateTranslator {
  const state: TurnState = {
    turnId,
    clock,
    servers,
    calls: new Map(),
    denied: new Set(),
    answered: new Set(),
    messages: 0,
    open: undefined,
  };
  return {
    translate: (update) => isRecord(update) ? translateUpdate(state, update) : [],
    callOf: (callId) => state.calls.get(shortId(callId)),
    deny: (callId) => void state.denied.add(shortId(callId)),
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
    case "plan":
      return [...closeMessage(state), ...planOf(update)];
    case "notice":
      return [...closeMessage(state), ...ownNoticeOf(update) ?? noticeOf(update)];
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
  const shown = imageOf(update.content);
  if (shown?.ok === true) return [...closeMessage(state), { kind: "image", image: shown.value }];
  const text = textOf(update.content);
  if (text === "") return [];
  const peerId = typeof update.messageId === "string" ? update.messageId : undefined;
  const updates: RuntimeUpdate[] = [];
  if (state.open !== undefined && peerId !== state.open.peerId) {
    updates.push(...closeMessage(state));
  }
  // Messages are filled, so that a stored answer is split as it was when it was streamed.
  for (let rest = text; rest !== "";) {
    const space = TURN_LIMITS.messageBytesMax - (state.open?.bytes ?? 0);
    const piece = cutText(rest, space).text;
    if (piece === "") {
      updates.push(...closeMessage(state));
      continue;
    }
    state.open ??= { id: `${state.turnId}-m${++state.messages}`, peerId, text: "", bytes: 0 };
    state.open.text += piece;
    state.open.bytes += byteLength(piece);
    updates.push({ kind: "text_delta", messageId: state.open.id, text: piece });
    rest = rest.slice(piece.length);
  }
  return updates;
}

function onCall(state: TurnState, update: Fields): RuntimeUpdate[] {
  const callId = typeof update.toolCallId === "string" ? shortId(update.toolCallId) : "";
  if (callId === "" || state.answered.has(callId)) return [];
  const call = state.calls.get(callId) ?? newCall(state.clock.monotonic());
  state.calls.set(callId, call);
  const meta = metaOf(update);
  mergeCall(call, update, { meta, servers: state.servers });
  const status = update.status;
  if (status !== "completed" && status !== "failed") {
    return isReady(call, update) ? announce(state, callId, call) : [];
  }
  return answer(state, [callId, call], {
    status: state.denied.has(callId) ? "denied" : meta.status ?? status,
    ...defined({ durationMs: meta.durationMs, cutBytes: meta.cutBytes }),
  });
}

/**
 * Whether a running call can be announced. Programs begin a call as `pending`, with no arguments or
 * some of them. They send the complete arguments later, with `in_progress` or without a status.
 */
function isReady({ announced }: OpenCall, { status, rawInput }: Fields): boolean {
  // Corrected arguments are announced only with the result, so that a program cannot flood the
  // transcript.
  if (status === "in_progress") return announced === undefined || announced === "{}";
  return status === undefined && announced === undefined && !isEmptyInput(rawInput);
}

/** Announces a call. Announces it again only when its arguments have changed. */
function announce(state: TurnState, callId: string, call: OpenCall): RuntimeUpdate[] {
  const printed = JSON.stringify(call.arguments) ?? "null";
  if (call.announced === printed) return [];
  call.announced = printed;
  return [...closeMessage(state), {
    kind: "tool_call",
    callId,
    mcp: call.mcp,
    tool: call.tool,
    arguments: boundedArguments(printed, call.arguments),
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
  }, ...call.images.map((image): RuntimeUpdate => ({ kind: "image", callId, image }))];
}

function newCall(startedMs: number): OpenCall {
  return {
    mcp: undefined,
    tool: UNNAMED,
    isClear: true,
    kind: undefined,
    locations: undefined,
    title: "",
    arguments: {},
    announced: undefined,
    text: "",
    images: [],
    startedMs,
  };
}

function mergeCall(call: OpenCall, update: Fields, of: {
  readonly meta: ReturnType<typeof metaOf>;
  readonly servers: readonly string[];
}): void {
  const { meta, servers } = of;
  if (typeof update.title === "string" && update.title !== "") call.title = update.title;
  if (typeof update.kind === "string") call.kind = update.kind;
  if (update.locations !== undefined) call.locations = update.locations;
  const name = typeof update.name === "string" ? update.name : "";
  if (meta.tool !== undefined && meta.tool !== "") {
    call.tool = meta.tool.slice(0, TOOL_NAME_LENGTH_MAX);
    call.mcp = meta.mcp?.slice(0, TOOL_NAME_LENGTH_MAX) ?? call.mcp;
    call.isClear = true;
  } else if (name !== "") nameCall(call, name, servers);
  else if (call.tool === UNNAMED && call.title !== "") nameCall(call, call.title, servers);
  // The final update may omit the arguments or send empty ones; keep the known ones then.
  if (
    update.rawInput !== undefined &&
    !(isEmptyInput(update.rawInput) && !isEmptyInput(call.arguments))
  ) {
    call.arguments = update.rawInput;
  }
  const isDone = update.status === "completed" || update.status === "failed";
  if (meta.imagePath !== undefined) call.images = [{ path: meta.imagePath }];
  if (Array.isArray(update.content)) {
    const read = update.content.map(readContent);
    // The built-in runtime names its images in the text, for the model.
    const named = read.filter(({ image }) => image === undefined).map(({ text }) => text).join();
    call.text = read.filter(({ text, image }) => image === undefined || !named.includes(text))
      .map(({ text }) => text).join("\n");
    call.images = read.flatMap(({ image }) => image === undefined ? [] : [image]);
  } else if ((isDone || call.text === "") && update.rawOutput !== undefined) {
    // Output shown while the call ran, such as a description, is not the result.
    call.text = typeof update.rawOutput === "string"
      ? update.rawOutput
      : JSON.stringify(update.rawOutput) ?? "";
  }
}

function nameCall(call: OpenCall, name: string, servers: readonly string[]): void {
  const found = mcpToolOf(name, servers);
  const { mcp, tool, isClear } = found ?? { mcp: call.mcp, tool: name, isClear: call.isClear };
  call.isClear = isClear;
  call.mcp = mcp?.slice(0, TOOL_NAME_LENGTH_MAX);
  call.tool = tool.slice(0, TOOL_NAME_LENGTH_MAX);
}

/** Whether arguments are empty or missing. */
export function isEmptyInput(input: unknown): boolean {
  return input === undefined || input === null ||
    isRecord(input) && Object.keys(input).length === 0;
}

function shortId(callId: string): string {
  return callId.slice(0, 256);
}

/**
 * Fields that the built-in runtime and the dialects add under `_meta.fleetctl`; absent from other
 * agents.
 */
function metaOf(update: Fields): {
  readonly mcp?: string;
  readonly tool?: string;
  readonly status?: ResultStatus;
  readonly durationMs?: number;
  readonly cutBytes?: number;
  readonly imagePath?: string;
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
    ...(typeof meta.image_path === "string" ? { imagePath: meta.image_path } : {}),
  };
}

/** Reads what the built-in runtime reports in a notice; undefined for any other notice. */
function ownNoticeOf({ _meta: all }: Fields): RuntimeUpdate[] | undefined {
  const meta = isRecord(all) && isRecord(all.fleetctl) ? all.fleetctl : {};
  const given = meta.summary ?? meta.steered;
  if (!isRecord(given) || typeof given.id !== "string" || typeof given.text !== "string") {
    return undefined;
  }
  const id = given.id.slice(0, 64);
  const { text } = cutText(given.text, TURN_LIMITS.messageBytesMax);
  if (meta.summary === undefined) return [{ kind: "steered", messageId: id, text }];
  return [{ kind: "summary", summaryId: id, text, by: given.by === "owner" ? "owner" : "model" }];
}

function noticeOf(update: Fields): RuntimeUpdate[] {
  const parts = [update.title, update.description].filter((part) => typeof part === "string");
  const text = cutText(parts.join(": "), TURN_LIMITS.messageBytesMax).text;
  return text === "" ? [] : [{ kind: "notice", text }];
}

function boundedArguments(json: string, value: unknown): unknown {
  const cut = cutText(json, TURN_LIMITS.toolArgumentsBytesMax - 256);
  return cut.cutBytes === 0 ? value ?? {} : { beginning: cut.text, cut_bytes: cut.cutBytes };
}

/** Reads one content of a result: its text, and the image if it is one. */
function readContent(item: unknown): { readonly text: string; readonly image?: ProducedImage } {
  if (!isRecord(item)) return { text: "" };
  if (item.type === "diff" && typeof item.path === "string") {
    return { text: `[changed ${item.path}]` };
  }
  if (item.type === "terminal") return { text: "[terminal]" };
  const image = imageOf(item.content);
  if (image === undefined) return { text: textOf(item.content) };
  return image.ok
    ? { text: `[image ${imageWords(image.value)}]`, image: image.value }
    : { text: `[image that is not shown: ${image.error.state}]` };
}

/** Reads an image as ACP and MCP send it; undefined for other content. */
function imageOf(content: unknown) {
  if (!isRecord(content) || content.type !== "image") return undefined;
  return typeof content.data === "string" ? readBase64Image(content.data) : undefined;
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
