/**
 * Runs the tool calls of one answer: read-only ones in parallel, the others one after the other in
 * the model's order. Each call is marked in the journal before it is sent, and its result is stored
 * before the next step. A call that fails also gets a result; one that the end of the runtime
 * stopped gets none.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { CallPart } from "units/agent_loop/conversation/message.ts";
import type { Conversation } from "units/agent_loop/conversation/store.ts";
import type { TurnJournal } from "units/agent_loop/journal/files.ts";
import type { MediaStore } from "units/agent_loop/media/store.ts";
import type { BadCall } from "units/agent_loop/model/answer.ts";
import { failed, type Tool, type ToolOutcome } from "units/agent_loop/tools/tool.ts";
import type { ReportedCall, TurnSink } from "units/agent_loop/turn/sink.ts";

/** The context in which calls run. */
export interface CallContext {
  readonly tools: readonly Tool[];
  readonly conversation: Conversation;
  readonly sink: TurnSink;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly journal: TurnJournal;
  readonly media: MediaStore;
  /** Number of the answer within the turn. */
  readonly step: number;
  /** Whether the abort of `signal` means that the runtime is ending. */
  readonly isEnding: () => boolean;
}

/** The calls of one answer. */
export interface AnsweredCalls {
  readonly calls: readonly CallPart[];
  /** Calls whose arguments are unusable. */
  readonly badCalls: readonly BadCall[];
}

const ENDING = "the runtime ends";

/** Maximum number of tool names shown to a model that called an unknown one. */
const NAMES_SHOWN_MAX = 40;

/** Returns a call as it is reported. */
export function reportedCall(part: CallPart, tools: readonly Tool[]): ReportedCall {
  return {
    callId: part.call_id,
    name: part.tool,
    arguments: part.arguments,
    tool: tools.find((tool) => tool.name === part.tool),
  };
}

/** Runs every call of an answer. Rejects when the runtime ends and thereby stops a call. */
export async function runCalls(answer: AnsweredCalls, context: CallContext): Promise<void> {
  const bad = new Map(answer.badCalls.map((call) => [call.callId, call.reason]));
  const calls = answer.calls.map((part) => reportedCall(part, context.tools));
  let batch: Promise<void>[] = [];
  for (const call of calls) {
    if (call.tool?.isConcurrent !== true) {
      await Promise.all(batch);
      batch = [];
    }
    const run = runCall(call, bad.get(call.callId), context);
    if (call.tool?.isConcurrent === true) batch.push(run);
    else await run;
  }
  await Promise.all(batch);
}

async function runCall(
  call: ReportedCall,
  fault: string | undefined,
  context: CallContext,
): Promise<void> {
  const { clock, sink } = context;
  await sink.callStarted(call);
  const started = clock.monotonic();
  const outcome = await outcomeOf(call, fault, context);
  // The call did not fail by itself, so it gets no result: the next runtime continues the turn.
  if (context.isEnding() && outcome.status !== "completed") throw new Error(ENDING);
  await finishCall(call, outcome, Math.max(0, clock.monotonic() - started), context);
}

/** Stores the result of a call, then reports it. */
export async function finishCall(
  call: ReportedCall,
  given: ToolOutcome,
  durationMs: number,
  { conversation, sink, clock, media: store }: Pick<
    CallContext,
    "conversation" | "sink" | "clock" | "media"
  >,
): Promise<void> {
  const pdfs = await store.keepPdfs(given.pdfs ?? []);
  const outcome = { ...given, text: [given.text, ...pdfs.notes].join("\n") };
  const { plan } = outcome;
  if (plan !== undefined) {
    await conversation.append({ type: "plan", at: clock.now(), entries: [...plan] });
    await sink.plan(plan);
  }
  const media = [...pdfs.media, ...await store.keepImages(outcome.images ?? [])];
  await conversation.append({
    type: "result",
    at: clock.now(),
    call_id: call.callId,
    tool: call.name,
    status: outcome.status,
    text: outcome.text,
    ...(media.length === 0 ? {} : { media }),
    duration_ms: Math.round(durationMs),
  });
  await sink.callEnded(call, outcome, durationMs);
}

async function outcomeOf(
  call: ReportedCall,
  fault: string | undefined,
  context: CallContext,
): Promise<ToolOutcome> {
  if (call.tool === undefined) {
    const names = context.tools.slice(0, NAMES_SHOWN_MAX).map((tool) => tool.name).join(", ");
    return failed(`There is no tool "${call.name.slice(0, 80)}". The tools are: ${names}`);
  }
  if (fault !== undefined) return failed(`The arguments are unusable: ${fault.slice(0, 500)}`);
  if (context.signal.aborted) return { status: "stopped", text: "[cancelled before it began]" };
  const { callId, name } = call;
  // Not caught: without its mark the call must not be sent.
  await context.journal.started({ step: context.step, call_id: callId, tool: name });
  try {
    return await call.tool.run(call.arguments, context.signal);
  } catch (error) {
    return failed(`The tool failed: ${errorText(error)}`);
  }
}
