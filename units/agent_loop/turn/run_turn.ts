/**
 * One turn: the owner's message, then answers and tool calls until the model is done, the turn is
 * cancelled, or a fault ends it. Every message is stored before the next step, and every call is in
 * the journal before it is sent, so that the turn continues after a crash at any point (ADR 0036).
 * Never throws.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { errorText, type Refusal } from "core/errors.ts";
import type { Log } from "core/ports/log.ts";
import type { Result } from "core/result.ts";
import { callsOf } from "units/agent_loop/conversation/message.ts";
import type { MediaMemory } from "units/agent_loop/media/refusal.ts";
import type { ServerFault } from "units/agent_loop/mcp/config.ts";
import type { PromptSource } from "units/agent_loop/prompt/system_prompt.ts";
import type { ToolDeclaration } from "units/agent_loop/model/step.ts";
import { TurnModel, type TurnModels } from "units/agent_loop/turn/turn_model.ts";
import type { StepAnswer } from "units/agent_loop/model/answer.ts";
import type { SpendCheck } from "units/agent_loop/spend_check.ts";
import type { Tool } from "units/agent_loop/tools/tool.ts";
import { type AskFault, askModel, type AskPorts } from "units/agent_loop/turn/ask_model.ts";
import { parseCommand, runCommand } from "units/agent_loop/turn/commands.ts";
import {
  type BeginContext,
  type BeginInput,
  beginTurn,
  type BegunTurn,
  type Resume,
  resumeCalls,
} from "units/agent_loop/turn/resume_turn.ts";
import { runCalls } from "units/agent_loop/turn/run_calls.ts";
import type { McpPool } from "units/agent_loop/mcp/pool.ts";
import { unavailable } from "units/agent_loop/mcp/server.ts";
import { stopped, STOPS, type TurnEnd, type TurnStop } from "units/agent_loop/turn/sink.ts";
import { type SteerInbox, takeSteers } from "units/agent_loop/turn/steering.ts";
import { createSummariser } from "units/agent_loop/turn/summarise.ts";
import { storedTokens, TokenSum } from "units/agent_loop/turn/turn_tokens.ts";

/** Returns the model of a runtime; loads it when first needed. */
export type ModelSource = () => Promise<Result<TurnModels>>;

/** What the turns of one session share. */
export interface TurnContext extends BeginContext {
  readonly agent: string;
  /** Returns the system prompt; it is read at the start of each turn. */
  readonly prompt: PromptSource;
  readonly model: ModelSource;
  /** Number of model calls after which a turn stops. */
  readonly stepsMax: number;
  /** What the session learned about the media that the model accepts. */
  readonly mediaMemory: MediaMemory;
  /** Prepares the MCP servers and reports their faults. */
  readonly prepareTools: McpPool["prepare"];
  /** Asks before each model call whether the agent may spend more; absent without a ceiling. */
  readonly checkSpend?: SpendCheck | undefined;
  readonly ports: AskPorts & { readonly log: Log };
}

/** Inputs of one turn. */
export interface TurnInput extends BeginInput {
  readonly signal: AbortSignal;
  /** Messages that the owner sends into the turn. */
  readonly inbox: SteerInbox;
  /** Whether the abort of `signal` means that the runtime is ending. */
  readonly isEnding: () => boolean;
}

/**
 * Runs a turn to its end and stores the outcome. Continues a turn that an earlier runtime began
 * under the same id. A turn with an id stays open when the runtime ends during it.
 */
export async function runTurn(context: TurnContext, input: TurnInput): Promise<TurnEnd> {
  const { ports } = context;
  let end: TurnStop;
  const tokens = new TokenSum();
  let begun: BegunTurn;
  try {
    begun = await beginTurn(context, input, tokens);
  } catch (error) {
    return notStored(error);
  }
  if (begun.kind === "over") {
    await nameModel(context, tokens);
    return { ...begun.end, ...defined({ tokens: tokens.total() }) };
  }
  try {
    end = await runSteps(context, input, { tokens, begun });
  } catch (error) {
    // While the runtime ends, the client may have disconnected. Otherwise a step failed, such as a
    // write on a full disk.
    end = input.isEnding() ? stopped("cancelled") : notStored(error);
  }
  const goesOn = input.isEnding() && input.turnId !== undefined;
  if (goesOn) ports.log.info("turn stays open", { turn: input.turnId });
  else await storeEnd(context, end, input.isEnding());
  return { ...end, ...defined({ tokens: tokens.total() }) };
}

async function runSteps(
  context: TurnContext,
  input: TurnInput,
  { tokens, begun }: {
    readonly tokens: TokenSum;
    readonly begun: Extract<BegunTurn, { kind: "open" }>;
  },
): Promise<TurnStop> {
  const { conversation, media, ports } = context;
  const { signal, sink, isEnding } = input;
  const model = await prepare(context, input);
  if (!model.ok) return refused(model.error);
  const { text: instructions, notices } = await context.prompt(
    model.value.settings.contextTokens,
  );
  for (const notice of notices) await sink.notice("warning", notice);
  const models = openModels(model.value, begun.resume, tokens);
  const { journal } = begun;
  const calls = { conversation, media, sink, signal, clock: ports.clock, journal, isEnding };
  if (begun.resume !== undefined) {
    const end = await resumeCalls(context, begun.resume, { ...calls, tools: context.tools() });
    if (end !== undefined) return end;
  }
  const mayCall = () => checkCall(context, input, { name: models.name, tokens });
  const askOf = () => ({ ...context, ...models.current, instructions, sink, signal });
  const toFallback = async (fault: AskFault) => {
    const notice = models.afterFault(fault);
    if (notice === undefined) return false;
    await sink.notice("warning", notice);
    tokens.use(models.name);
    return true;
  };
  const summariser = createSummariser({ ...askOf(), models, tokens, mayCall, toFallback });
  const command = parseCommand(input.text);
  if (command !== undefined) return await runCommand(command, summariser, askOf());
  for (let step = begun.steps; step < context.stepsMax;) {
    await takeSteers(input.inbox, calls);
    const tools = context.tools();
    const declared = tools.map(declarationOf);
    const over = await summariser.ifDue(declared) ?? await mayCall();
    if (over !== undefined) return over;
    const answer = await askModel({ ...askOf(), tools: declared }, ports);
    // The model is asked again after the restart.
    if (signal.aborted && isEnding()) return stopped("cancelled");
    if (!answer.ok && await toFallback(answer.error)) continue;
    tokens.add(answer.ok ? answer.value.tokens : undefined);
    const parts = await storeAnswer(answer, context, models);
    if (!answer.ok) {
      const { code, reason, hints } = answer.error.fault;
      return { kind: "failed", code, reason, hints };
    }
    const { finish, badCalls } = answer.value;
    const called = callsOf(parts);
    if (finish !== "tool-calls" && called.length === 0) {
      if (finish === "stop" && await takeSteers(input.inbox, calls) > 0) {
        step++;
        continue;
      }
      if (parts.length === 0 && finish === "stop") {
        await sink.notice("info", "The model gave an empty answer");
      }
      return stopped(STOPS[finish]);
    }
    await runCalls({ calls: called, badCalls }, { ...calls, tools, step: step++ });
  }
  if (signal.aborted) return stopped("cancelled");
  await sink.notice("warning", limitReached(context.stepsMax));
  return stopped("max_turn_requests");
}

/** Stores what the model answered, or what arrived before its fault. Returns these parts. */
async function storeAnswer(
  answer: Result<StepAnswer, AskFault>,
  { conversation, ports }: TurnContext,
  models: TurnModel,
): Promise<StepAnswer["parts"]> {
  const parts = answer.ok ? answer.value.parts : answer.error.partial;
  if (parts.length === 0) return parts;
  const details = answer.ok ? detailsOf(answer.value, models) : {};
  const at = ports.clock.now();
  await conversation.append({ type: "assistant", at, parts: [...parts], ...details });
  return parts;
}

/** Counts the stored answers of a turn that has ended under the model that gave them. */
async function nameModel({ model }: TurnContext, tokens: TokenSum): Promise<void> {
  if (tokens.total() === undefined) return;
  // Without the model its name stays unknown; the end of the turn is known.
  const found = await model().catch(() => undefined);
  if (found?.ok === true) tokens.use(new TurnModel(found.value).name);
}

/** Opens the models of a turn, and counts its stored answers under those that gave them. */
function openModels(given: TurnModels, resume: Resume | undefined, tokens: TokenSum): TurnModel {
  const models = new TurnModel(given);
  tokens.use(models.name);
  models.resume(resume?.plan.steps.at(-1)?.answer.model);
  tokens.use(models.name);
  return models;
}

/** Checks whether the model may be called; returns the end of the turn if not. */
async function checkCall(
  { checkSpend }: TurnContext,
  { signal, sink, turnId }: TurnInput,
  { name, tokens }: { readonly name: string; readonly tokens: TokenSum },
): Promise<TurnStop | undefined> {
  const spend = await checkSpend?.(name, tokens.total(), { turnId, signal });
  if (signal.aborted) return stopped("cancelled");
  for (const text of spend?.notices ?? []) await sink.notice("warning", text);
  return spend?.stop === undefined ? undefined : refused(spend.stop);
}

function declarationOf({ name, description, inputSchema }: Tool): ToolDeclaration {
  return { name, description, inputSchema };
}

/** Prepares the MCP servers and the model. */
async function prepare(
  context: TurnContext,
  { signal, sink }: TurnInput,
): ReturnType<ModelSource> {
  const notices: Promise<void>[] = [];
  const report = ({ name, reason }: ServerFault) => {
    const sent = sink.notice("warning", unavailable(name, reason, context.agent));
    // The turn detects later that its client has disconnected.
    sent.catch(() => {});
    notices.push(sent);
  };
  const [, model] = await Promise.all([context.prepareTools(signal, report), context.model()]);
  await Promise.all(notices);
  return model;
}

/** What a restarted runtime must know of an answer. */
function detailsOf({ finish, badCalls, tokens }: StepAnswer, models: TurnModel) {
  return {
    finish,
    ...defined({ model: models.fallbackName }),
    ...(badCalls.length === 0
      ? {}
      : { bad_calls: badCalls.map(({ callId, reason }) => ({ call_id: callId, reason })) }),
    ...defined({ tokens: storedTokens(tokens) }),
  };
}

/** Describes the limit for people. */
function limitReached(stepsMax: number): string {
  return `The turn stops here, because it made ${stepsMax} model calls. ` +
    'The work is kept: send "continue" to go on';
}

async function storeEnd(context: TurnContext, end: TurnStop, isEnding: boolean): Promise<void> {
  const record = endRecord(end, isEnding);
  try {
    await context.conversation.append({ type: "end", at: context.ports.clock.now(), ...record });
  } catch (error) {
    // The next new turn closes it.
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
  const reason = end.stop === "max_turn_requests"
    ? "it reached its limit of model calls, and the work is not finished"
    : `the turn stopped: ${end.stop}`;
  return { outcome: "failed" as const, code: end.stop, reason };
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
