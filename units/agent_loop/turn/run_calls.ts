/**
 * Runs the tool calls of one answer: read-only ones in parallel, the others one after the other in
 * the model's order. Each result is stored before the next step. Every call gets a result, even if
 * it fails.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import { callsOf } from "units/agent_loop/conversation/message.ts";
import type { Conversation } from "units/agent_loop/conversation/store.ts";
import type { StepAnswer } from "units/agent_loop/model/answer.ts";
import { failed, type Tool, type ToolOutcome } from "units/agent_loop/tools/tool.ts";
import type { ReportedCall, TurnSink } from "units/agent_loop/turn/sink.ts";

/** The context in which calls run. */
export interface CallContext {
  readonly tools: readonly Tool[];
  readonly conversation: Conversation;
  readonly sink: TurnSink;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Maximum number of tool names shown to a model that called an unknown one. */
const NAMES_SHOWN_MAX = 40;

/** Runs every call of an answer. */
export async function runCalls(answer: StepAnswer, context: CallContext): Promise<void> {
  const bad = new Map(answer.badCalls.map((call) => [call.callId, call.reason]));
  const calls = callsOf(answer.parts).map((part): ReportedCall => ({
    callId: part.call_id,
    name: part.tool,
    arguments: part.arguments,
    tool: context.tools.find((tool) => tool.name === part.tool),
  }));
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
  const { clock, conversation, sink } = context;
  await sink.callStarted(call);
  const started = clock.monotonic();
  const outcome = await outcomeOf(call, fault, context);
  const durationMs = Math.max(0, clock.monotonic() - started);
  await conversation.append({
    type: "result",
    at: clock.now(),
    call_id: call.callId,
    tool: call.name,
    status: outcome.status,
    text: outcome.text,
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
  try {
    return await call.tool.run(call.arguments, context.signal);
  } catch (error) {
    return failed(`The tool failed: ${errorText(error)}`);
  }
}
