/**
 * One call of the model: sends a prompt, streams text, and returns the whole answer or a
 * `ModelFault`. Never retries, never runs a tool, never throws for a fault of the endpoint.
 *
 * @module
 */

import type { JSONSchema7, ToolSet } from "ai";
import { defined } from "core/defined.ts";
import { ok, type Result } from "core/result.ts";
import type { ModelEffort } from "core/runtimes/model_choice.ts";
import type { Clock } from "core/ports/clock.ts";
import type { AssistantPart, Message } from "units/agent_loop/conversation/message.ts";
import { createAnswer, type StepAnswer } from "units/agent_loop/model/answer.ts";
import {
  type FaultContext,
  judgeError,
  type ModelFault,
  silentFault,
  streamCutFault,
} from "units/agent_loop/model/fault.ts";
import { toModelMessages } from "units/agent_loop/model/prompt.ts";
import type { LoadedModel } from "units/agent_loop/model/provider.ts";

/** The description of a tool that the model receives. */
export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** A request to the model. */
export interface StepRequest {
  readonly instructions: string;
  readonly messages: readonly Message[];
  /** The media of the messages by digest, in base64. */
  readonly media: ReadonlyMap<string, string>;
  readonly tools: readonly ToolDeclaration[];
  readonly outputTokens: number | undefined;
  /** How much the model thinks; the provider's default when undefined. */
  readonly effort: ModelEffort | undefined;
  readonly signal: AbortSignal;
  /** Receives text as it streams; the stream waits for it. `block` identifies the text block. */
  readonly onText: (text: string, block: string) => Promise<void>;
}

/** A fault, with the content that arrived before it. */
export interface StepFault {
  readonly fault: ModelFault;
  readonly partial: readonly AssistantPart[];
}

/** Dependencies of a step. */
export interface StepPorts {
  readonly clock: Clock;
  readonly context: Omit<FaultContext, "now" | "hasStarted">;
  /** An endpoint that sends nothing for this long is given up. */
  readonly silenceMs: number;
}

/** Calls the model once. */
export async function runStep(
  loaded: LoadedModel,
  request: StepRequest,
  ports: StepPorts,
): Promise<Result<StepAnswer, StepFault>> {
  const answer = createAnswer();
  const silence = watchSilence(ports, request.signal);
  const context = (): FaultContext => ({
    ...ports.context,
    now: ports.clock.now(),
    hasStarted: answer.hasStarted(),
  });
  const failed = (fault: ModelFault): Result<StepAnswer, StepFault> => ({
    ok: false,
    error: { fault, partial: answer.texts() },
  });
  try {
    const stream = await openStream(loaded, request, silence.signal);
    for await (const part of stream) {
      silence.reset();
      const event = answer.take(part);
      if (event?.kind === "text") await request.onText(event.text, event.block);
      if (event?.kind === "error") return failed(judgeError(event.error, context()));
    }
  } catch (error) {
    if (!silence.signal.aborted) return failed(judgeError(error, context()));
  } finally {
    silence.stop();
  }
  if (request.signal.aborted) return ok(answer.aborted());
  if (silence.isSilent()) return failed(silentFault(context(), ports.silenceMs / 1000));
  return answer.isFinished() ? ok(answer.whole()) : failed(streamCutFault(context()));
}

async function openStream(loaded: LoadedModel, request: StepRequest, signal: AbortSignal) {
  const { jsonSchema, streamText, tool } = await import("ai");
  const tools: ToolSet = {};
  for (const declared of request.tools) {
    tools[declared.name] = tool({
      description: declared.description,
      inputSchema: jsonSchema(declared.inputSchema as JSONSchema7),
    });
  }
  const { cacheMark } = loaded;
  const result = streamText({
    model: loaded.model,
    instructions: {
      role: "system",
      content: request.instructions,
      ...(cacheMark === undefined ? {} : { providerOptions: cacheMark as never }),
    },
    messages: toModelMessages(request.messages, request.media, loaded),
    tools,
    providerOptions: loaded.callOptions as never,
    // The library maps the effort to the form of each provider and model.
    ...defined({ maxOutputTokens: request.outputTokens, reasoning: request.effort }),
    maxRetries: 0,
    abortSignal: signal,
    // Errors arrive as parts of the stream and are classified there.
    onError: () => {},
  });
  return result.stream;
}

/**
 * Returns a signal that aborts when nothing arrived for too long, or when the turn is cancelled.
 */
function watchSilence(ports: StepPorts, cancelled: AbortSignal) {
  const controller = new AbortController();
  let silent = false;
  const start = () =>
    ports.clock.after(ports.silenceMs, () => {
      silent = true;
      controller.abort();
    });
  let stopTimer = start();
  const onCancel = () => controller.abort();
  if (cancelled.aborted) onCancel();
  cancelled.addEventListener("abort", onCancel, { once: true });
  return {
    signal: controller.signal,
    isSilent: () => silent,
    reset() {
      stopTimer();
      stopTimer = start();
    },
    stop() {
      stopTimer();
      cancelled.removeEventListener("abort", onCancel);
    },
  };
}
