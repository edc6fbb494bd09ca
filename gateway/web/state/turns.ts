/**
 * Converts a window of events to what the page shows: turns in the order of their beginning, each
 * with its message, steps and end, and notices between. Pure. An unchanged turn keeps its object
 * identity, so only changes are rendered again.
 *
 * @module
 */

import {
  NO_TRUNCATIONS,
  type Truncation,
  type Truncations,
} from "gateway/web/state/truncations.ts";
import type { QuestionForm, QuestionValues } from "core/questions/form.ts";
import { type AnswerRow, answerRows, parseForm } from "gateway/web/state/questions.ts";
import { type ExtraStep, extraStepOf } from "gateway/web/state/extra_steps.ts";
import { acceptsMessages } from "gateway/web/state/steering.ts";
import { tokensOf, type TurnTokens } from "gateway/web/state/usage.ts";
import { number, record, text, type WireEvent } from "gateway/web/state/wire.ts";

/** A call of a tool. */
export interface ToolStep {
  readonly kind: "tool";
  readonly key: string;
  readonly mcp: string | null;
  readonly tool: string;
  readonly arguments: unknown;
  readonly argumentsCut: number;
  readonly status: "running" | "completed" | "failed" | "denied" | "stopped";
  readonly result: string | undefined;
  readonly resultCut: number;
  readonly durationMs: number | undefined;
}

/** A message of the assistant. */
export interface MessageStep {
  readonly kind: "message";
  readonly key: string;
  readonly text: string;
  readonly cut: number;
}

/** A message that the agent sent through a channel. */
export interface SentStep {
  readonly kind: "sent";
  readonly key: string;
  readonly via: string;
  readonly to: string;
  readonly text: string;
  readonly status: ToolStep["status"];
}

/** A notice for the owner. */
export interface NoticeStep {
  readonly kind: "notice";
  readonly key: string;
  readonly text: string;
}

/** A question of a program, with its answer. */
export interface QuestionStep {
  readonly kind: "question";
  readonly key: string;
  readonly id: string;
  readonly form: QuestionForm;
  readonly state: "asked" | "answered" | "declined" | "expired" | "withdrawn";
  readonly rows: readonly AnswerRow[];
  /** Who answered; empty when no person did. */
  readonly by: string;
}

/** Three or more calls in a row. */
export interface FoldStep {
  readonly kind: "fold";
  readonly key: string;
  readonly tools: readonly ToolStep[];
}

/** One step of a turn. */
export type Step =
  | ToolStep
  | MessageStep
  | SentStep
  | NoticeStep
  | ExtraStep
  | QuestionStep
  | FoldStep;

/** How a turn ended. */
export interface Outcome {
  readonly outcome: "completed" | "cancelled" | "failed" | "interrupted";
  readonly code: string;
  readonly reason: string;
}

/** One turn, or events outside of turns. */
export interface TurnView {
  readonly kind: "turn" | "aside";
  readonly key: string;
  readonly turnId: string;
  readonly at: number;
  readonly ask:
    | { readonly text: string; readonly from: string; readonly isOwner: boolean }
    | undefined;
  readonly state: "sent" | "delivered" | "working" | "ended";
  /** Omitted events between `ask` and `steps`. */
  readonly cut: Truncation | undefined;
  readonly steps: readonly Step[];
  /** Empty for the default conversation. */
  readonly conversation: string;
  /** Whether its program accepts messages while it runs. */
  readonly acceptsMessages: boolean;
  readonly outcome: Outcome | undefined;
  /** Known once the turn has ended, if its program reports them. */
  readonly tokens: TurnTokens | undefined;
  /** Changes when an event of the turn is added or dropped from the window. */
  readonly mark: string;
}

/** Shortest run of calls that folds. */
const FOLD_MIN = 3;
/** Name of the tool that channels send messages with. */
const SEND_TOOL = "send_message";

/**
 * Groups events into turns. `before` is the earlier result. The end of a turn in `endDropped` is
 * not among the events: it counts as ended, with an unknown outcome.
 */
export function turnsOf(
  events: readonly WireEvent[],
  before: readonly TurnView[] = [],
  { cuts = NO_TRUNCATIONS, endDropped }: {
    readonly cuts?: Truncations;
    readonly endDropped?: ReadonlySet<string>;
  } = {},
): readonly TurnView[] {
  const groups = new Map<string, WireEvent[]>();
  let running: string | null = null;
  for (const event of events) {
    if (event.kind === "turn_started") running = event.turnId;
    if (event.kind === "turn_ended" && event.turnId === running) running = null;
    if (event.turnId === null && !isAside(event)) continue;
    // The turn itself says why: it continues with a notice, or its outcome has the reason.
    if (isFailure(event) && running !== null) continue;
    // Outside of turns, the events of one question belong together.
    const key = event.turnId ??
      (isAboutQuestion(event)
        ? `question-${text(event.payload.question_id)}`
        : `aside-${event.seq}`);
    const group = groups.get(key);
    // A question whose beginning is not in the window cannot be shown.
    const isRest = event.turnId === null && isAboutQuestion(event) &&
      event.kind !== "question_asked";
    if (group === undefined && isRest) continue;
    if (group === undefined) groups.set(key, [event]);
    else group.push(event);
  }
  const known = new Map(before.map((turn) => [turn.key, turn]));
  return [...groups].map(([key, group]) => {
    const cut = cuts.get(key);
    const isEndDropped = endDropped?.has(key) === true;
    const of = { key, cut, isEndDropped, mark: markOf(group, cut, isEndDropped) };
    const same = known.get(key);
    return same?.mark === of.mark ? same : viewOf(group, of);
  });
}

/** Whether an event without a turn is shown. */
function isAside(event: WireEvent): boolean {
  return event.kind === "notice" || isAboutQuestion(event) || isFailure(event);
}

const FAILED = "The agent failed: ";

function isFailure({ kind, payload }: WireEvent): boolean {
  return kind === "agent_state" && payload.state === "failed";
}

function isAboutQuestion({ kind }: WireEvent): boolean {
  return kind.startsWith("question_");
}

function markOf(
  group: readonly WireEvent[],
  cut: Truncation | undefined,
  isEndDropped: boolean,
): string {
  const left = cut === undefined ? "" : `${cut.before}-${cut.counts.events}-${cut.phase}`;
  return [group[0]?.seq, group.at(-1)?.seq, group.length, left, isEndDropped].join(" ");
}

function viewOf(
  group: readonly WireEvent[],
  { key, cut, isEndDropped, mark }: {
    readonly key: string;
    readonly cut: Truncation | undefined;
    readonly isEndDropped: boolean;
    readonly mark: string;
  },
): TurnView {
  const first = group[0] as WireEvent;
  const asked = group.find(({ kind }) => kind === "turn_queued")?.payload;
  const onHost = group.find(({ kind }) => kind === "turn_asked")?.payload;
  const ended = group.find(({ kind }) => kind === "turn_ended")?.payload;
  const origin = text(asked?.origin, "owner:");
  return {
    kind: first.turnId === null ? "aside" : "turn",
    key,
    turnId: first.turnId ?? "",
    at: first.at,
    // Prefer the gateway's own record: an agent must not replace its owner's words.
    ask: asked !== undefined
      ? {
        text: text(asked.text),
        from: origin.slice(origin.indexOf(":") + 1),
        isOwner: origin.startsWith("owner:"),
      }
      : onHost === undefined
      ? undefined
      : { text: text(onHost.text), from: `${text(onHost.by)} (on its host)`, isOwner: false },
    state: isEndDropped ? "ended" : stateOf(group, cut !== undefined),
    cut,
    conversation: text((asked ?? onHost)?.conversation),
    acceptsMessages: acceptsMessages(group),
    steps: fold(stepsOf(group, ended !== undefined)),
    outcome: ended === undefined ? undefined : outcomeOf(ended),
    tokens: ended === undefined ? undefined : tokensOf(group),
    mark,
  };
}

function stateOf(group: readonly WireEvent[], isCut: boolean): TurnView["state"] {
  const has = (kind: string) => group.some((event) => event.kind === kind);
  if (has("turn_ended")) return "ended";
  // Its start may be among the omitted events.
  if (isCut) return "working";
  if ((has("turn_delivered") || has("turn_asked")) && !has("turn_started")) return "delivered";
  return group.every(({ kind }) => kind === "turn_queued") ? "sent" : "working";
}

function outcomeOf(payload: Readonly<Record<string, unknown>>): Outcome {
  const outcome = text(payload.outcome);
  return {
    outcome: outcome === "completed" || outcome === "cancelled" || outcome === "interrupted"
      ? outcome
      : "failed",
    code: text(payload.code),
    reason: text(payload.reason),
  };
}

function stepsOf(
  group: readonly WireEvent[],
  isEnded: boolean,
): readonly Exclude<Step, FoldStep>[] {
  const results = new Map<string, WireEvent>();
  const calls = new Map<string, WireEvent>();
  for (const event of group) {
    const callId = text(event.payload.call_id);
    if (event.kind === "tool_result") results.set(callId, event);
    // Some programs send a call's arguments after its start: the last ones count.
    if (event.kind === "tool_call") {
      calls.set(callId, { ...event, seq: calls.get(callId)?.seq ?? event.seq });
    }
  }
  const steps: Exclude<Step, FoldStep>[] = [];
  for (const event of group) {
    const last = event.kind === "tool_call" ? calls.get(text(event.payload.call_id)) : event;
    if (last === undefined || last.seq !== event.seq) continue;
    const step = last.kind === "question_asked"
      ? questionOf(last, group)
      : extraStepOf(last, group) ?? stepOf(last, results, isEnded);
    if (step !== undefined) steps.push(step);
  }
  return steps;
}

function stepOf(
  event: WireEvent,
  results: ReadonlyMap<string, WireEvent>,
  isEnded: boolean,
): Exclude<Step, FoldStep> | undefined {
  const { payload } = event;
  const key = String(event.seq);
  switch (event.kind) {
    case "message":
      return { kind: "message", key, text: text(payload.text), cut: number(payload.cut_bytes) };
    case "notice":
      return { kind: "notice", key, text: text(payload.text) };
    case "agent_state":
      if (!isFailure(event)) return undefined;
      return { kind: "notice", key, text: FAILED + text(payload.reason, "no reason") };
    case "tool_call":
      return callOf(key, payload, results.get(text(payload.call_id))?.payload, isEnded);
    default:
      return undefined;
  }
}

/** A question with its answer and its end, which are later events of the same group. */
function questionOf(asked: WireEvent, group: readonly WireEvent[]): QuestionStep {
  const id = text(asked.payload.question_id);
  const find = (kind: string) =>
    group.find((event) => event.kind === kind && event.payload.question_id === id)?.payload;
  const answer = find("question_answered");
  const ended = text(find("question_ended")?.state);
  const form = parseForm(asked.payload);
  return {
    kind: "question",
    key: String(asked.seq),
    id,
    form,
    state: ended === "expired" || ended === "withdrawn"
      ? ended
      : answer === undefined
      ? "asked"
      : answer.action === "declined"
      ? "declined"
      : "answered",
    rows: answerRows(form, record(answer?.values) as QuestionValues),
    by: text(answer?.by).replace(/^owner:/, ""),
  };
}

function callOf(
  key: string,
  call: Readonly<Record<string, unknown>>,
  result: Readonly<Record<string, unknown>> | undefined,
  isEnded: boolean,
): ToolStep | SentStep {
  const tool = text(call.tool, "tool");
  const mcp = typeof call.mcp === "string" ? call.mcp : null;
  const status = result === undefined
    ? isEnded ? "stopped" : "running"
    : statusOf(text(result.status));
  if (tool === SEND_TOOL && mcp !== null) {
    const given = record(call.arguments);
    const body = pick(given, ["text", "message", "content", "body"]);
    if (body !== undefined) {
      const to = pick(given, ["to", "recipient", "channel", "conversation", "chat_id"]) ?? "";
      return { kind: "sent", key, via: mcp, to, text: body, status };
    }
  }
  return {
    kind: "tool",
    key,
    mcp,
    tool,
    arguments: call.arguments,
    argumentsCut: number(call.cut_bytes),
    status,
    result: result === undefined ? undefined : text(result.text),
    resultCut: number(result?.cut_bytes),
    durationMs: result === undefined ? undefined : number(result.duration_ms),
  };
}

function statusOf(given: string): ToolStep["status"] {
  return given === "completed" || given === "denied" || given === "stopped" ? given : "failed";
}

function pick(
  from: Readonly<Record<string, unknown>>,
  names: readonly string[],
): string | undefined {
  for (const name of names) {
    const value = from[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return undefined;
}

function fold(steps: readonly Exclude<Step, FoldStep>[]): readonly Step[] {
  const folded: Step[] = [];
  let run: ToolStep[] = [];
  const flush = () => {
    if (run.length >= FOLD_MIN) {
      // The key comes from the preceding step, so calls added at either end keep an open fold
      // open.
      folded.push({ kind: "fold", key: `fold-${folded.at(-1)?.key ?? "first"}`, tools: run });
    } else folded.push(...run);
    run = [];
  };
  for (const step of steps) {
    if (step.kind === "tool") run.push(step);
    else {
      flush();
      folded.push(step);
    }
  }
  flush();
  return folded;
}

/** The turn that Stop applies to: the one that the agent works on, else the first that waits. */
export function runningTurn(turns: readonly TurnView[]): TurnView | undefined {
  return turns.find(({ kind, state }) => kind === "turn" && state === "working") ??
    turns.find(({ kind, state }) => kind === "turn" && state !== "ended");
}
