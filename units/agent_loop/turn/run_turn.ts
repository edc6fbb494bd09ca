/**
 * One turn: the owner's message, then answers and tool calls until the model is done, the turn is
 * cancelled, or a fault ends it. Every message is stored before the next step, so that the
 * conversation can continue after a crash at any point. Never throws.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { errorText, type Refusal } from "core/errors.ts";
import { RUNTIME_LIMITS } from "units/agent_loop/limits.ts";
import type { Log } from "core/ports/log.ts";
import type { Result } from "core/result.ts";
import type { Conversation } from "units/agent_loop/conversation/store.ts";
import type { ServerFault } from "units/agent_loop/mcp/config.ts";
import type { LoadedModel } from "units/agent_loop/model/provider.ts";
import type { StepFinish } from "units/agent_loop/model/answer.ts";
import type { ModelSettings } from "units/agent_loop/settings.ts";
import type { Tool } from "units/agent_loop/tools/tool.ts";
import { askModel, type AskPorts } from "units/agent_loop/turn/ask_model.ts";
import { runCalls } from "units/agent_loop/turn/run_calls.ts";
import type { McpPool } from "units/agent_loop/mcp/pool.ts";
import { unavailable } from "units/agent_loop/mcp/server.ts";
import type { TurnEnd, TurnSink, TurnStop } from "units/agent_loop/turn/sink.ts";
import { TokenSum } from "units/agent_loop/turn/turn_tokens.ts";

/** Returns the model of a runtime; loads it when first needed. */
export type ModelSource = () => Promise<
  Result<{ readonly loaded: LoadedModel; readonly settings: ModelSettings }>
>;

/** What the turns of one session share. */
export interface TurnContext {
  readonly agent: string;
  readonly conversation: Conversation;
  readonly instructions: string;
  readonly model: ModelSource;
  /** Prepares the MCP servers and reports their faults. */
  readonly prepareTools: McpPool["prepare"];
  /** Returns the current tools; a server that starts late is included from the next step. */
  readonly tools: () => readonly Tool[];
  readonly ports: AskPorts & { readonly log: Log };
}

/** Inputs of one turn. */
export interface TurnInput {
  readonly turnId: string | undefined;
  readonly text: string;
  readonly sink: TurnSink;
  readonly signal: AbortSignal;
  /** Whether the abort of `signal` means that the runtime is ending. */
  readonly isEnding: () => boolean;
}

/** Runs a turn to its end and stores the outcome. */
export async function runTurn(context: TurnContext, input: TurnInput): Promise<TurnEnd> {
  const { conversation, ports } = context;
  let end: TurnStop;
  const tokens = new TokenSum();
  try {
    await conversation.append({
      type: "user",
      at: ports.clock.now(),
      text: input.text,
      ...defined({ turn_id: input.turnId }),
    });
  } catch (error) {
    return notStored(error);
  }
  try {
    end = await runSteps(context, input, tokens);
  } catch (error) {
    // While the runtime ends, the client may have disconnected. Otherwise a step failed, such as a
    // write on a full disk.
    end = input.isEnding() ? stopped("cancelled") : notStored(error);
  }
  await storeEnd(context, end, input.isEnding());
  return { ...end, ...defined({ tokens: tokens.total() }) };
}

async function runSteps(
  context: TurnContext,
  input: TurnInput,
  tokens: TokenSum,
): Promise<TurnStop> {
  const { conversation, ports } = context;
  const { signal, sink } = input;
  const notices: Promise<void>[] = [];
  const report = ({ name, reason }: ServerFault) => {
    const sent = sink.notice("warning", unavailable(name, reason, context.agent));
    // A client that has disconnected is detected below.
    sent.catch(() => {});
    notices.push(sent);
  };
  const [, model] = await Promise.all([context.prepareTools(signal, report), context.model()]);
  await Promise.all(notices);
  if (!model.ok) return refused(model.error);
  tokens.use(model.value.settings.model || DEMO_MODEL);
  for (let step = 0; step < RUNTIME_LIMITS.stepsMax; step++) {
    if (signal.aborted) return stopped("cancelled");
    const tools = context.tools();
    const answer = await askModel({
      ...model.value,
      agent: context.agent,
      conversation,
      instructions: context.instructions,
      tools: tools.map(({ name, description, inputSchema }) => ({
        name,
        description,
        inputSchema,
      })),
      sink,
      signal,
    }, ports);
    tokens.add(answer.ok ? answer.value.tokens : undefined);
    const parts = answer.ok ? answer.value.parts : answer.error.partial;
    if (parts.length > 0) {
      await conversation.append({ type: "assistant", at: ports.clock.now(), parts: [...parts] });
    }
    if (!answer.ok) {
      const { code, reason, hints } = answer.error.fault;
      return { kind: "failed", code, reason, hints };
    }
    const { finish } = answer.value;
    if (finish !== "tool-calls" && !hasCalls(answer.value)) {
      if (parts.length === 0 && finish === "stop") {
        await sink.notice("info", "The model gave an empty answer");
      }
      return stopped(STOPS[finish]);
    }
    await runCalls(answer.value, { tools, conversation, sink, signal, clock: ports.clock });
  }
  return signal.aborted ? stopped("cancelled") : stopped("max_turn_requests");
}

/** Id of the demo model, whose settings name no model. */
const DEMO_MODEL = "demo";

const STOPS: Readonly<Record<StepFinish, Extract<TurnStop, { kind: "stopped" }>["stop"]>> = {
  stop: "end_turn",
  "tool-calls": "end_turn",
  length: "max_tokens",
  "content-filter": "refusal",
  aborted: "cancelled",
};

function hasCalls(answer: { readonly parts: readonly { readonly type: string }[] }): boolean {
  return answer.parts.some((part) => part.type === "call");
}

async function storeEnd(context: TurnContext, end: TurnStop, isEnding: boolean): Promise<void> {
  const record = endRecord(end, isEnding);
  try {
    await context.conversation.append({ type: "end", at: context.ports.clock.now(), ...record });
  } catch (error) {
    // The next start finds a turn without an end and closes it.
    context.ports.log.error("turn end not stored", { reason: errorText(error) });
  }
}

function endRecord(end: TurnStop, isEnding: boolean) {
  if (end.kind === "failed") {
    return { outcome: "failed" as const, code: end.code, reason: end.reason };
  }
  if (end.stop === "end_turn") return { outcome: "completed" as const };
  if (end.stop === "cancelled") {
    return isEnding
      ? { outcome: "interrupted" as const, reason: "the runtime was stopped" }
      : { outcome: "cancelled" as const, reason: "the owner cancelled the turn" };
  }
  return { outcome: "failed" as const, code: end.stop, reason: `the turn stopped: ${end.stop}` };
}

function stopped(stop: Extract<TurnStop, { kind: "stopped" }>["stop"]): TurnStop {
  return { kind: "stopped", stop };
}

function refused(refusal: Refusal): TurnStop {
  const details = refusal.details.length === 0 ? "" : `: ${refusal.details.join("; ")}`;
  return {
    kind: "failed",
    code: refusal.code,
    reason: refusal.message + details,
    hints: refusal.hints,
  };
}

function notStored(error: unknown): TurnStop {
  return {
    kind: "failed",
    code: "turn-not-stored",
    reason: `The turn cannot continue: ${errorText(error)}`,
    hints: ["df -h"],
  };
}
