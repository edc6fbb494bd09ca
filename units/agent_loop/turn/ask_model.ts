/**
 * One answer of the model within a turn. Fits the history to the window, retries temporary faults
 * with a notice each, and shortens a history that is still too long. Never runs a tool.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import type { AssistantPart } from "units/agent_loop/conversation/message.ts";
import type { Conversation } from "units/agent_loop/conversation/store.ts";
import { fitHistory, textTokens } from "units/agent_loop/conversation/window.ts";
import type { MediaRef } from "units/agent_loop/media/media.ts";
import {
  mayBeMedia,
  type MediaMemory,
  mediaRefusal,
  refusalNotice,
  withoutMediaNotice,
} from "units/agent_loop/media/refusal.ts";
import { hideLost, mediaOf, showMedia } from "units/agent_loop/media/shown.ts";
import type { MediaStore } from "units/agent_loop/media/store.ts";
import type { FaultContext, ModelFault } from "units/agent_loop/model/fault.ts";
import type { LoadedModel } from "units/agent_loop/model/provider.ts";
import { attemptsMax, decideRetry } from "units/agent_loop/model/retry.ts";
import type { StepAnswer } from "units/agent_loop/model/answer.ts";
import { runStep, type ToolDeclaration } from "units/agent_loop/model/step.ts";
import type { ModelSettings } from "units/agent_loop/settings.ts";
import { printPlan } from "units/agent_loop/tools/todo.ts";
import type { TurnSink } from "units/agent_loop/turn/sink.ts";

/** Inputs of a request to the model. */
export interface Ask {
  readonly loaded: LoadedModel;
  readonly settings: ModelSettings;
  readonly agent: string;
  readonly conversation: Pick<
    Conversation,
    "messages" | "summary" | "plan" | "forgottenTurns" | "forget"
  >;
  readonly media: MediaStore;
  readonly mediaMemory: MediaMemory;
  readonly instructions: string;
  readonly tools: readonly ToolDeclaration[];
  readonly sink: Pick<TurnSink, "text" | "notice">;
  readonly signal: AbortSignal;
}

/** Dependencies of a request to the model. */
export interface AskPorts {
  readonly clock: Clock;
  readonly random: Random;
}

/** A failure that retries did not resolve, with the text that was already streamed. */
export interface AskFault {
  readonly fault: ModelFault;
  readonly partial: readonly AssistantPart[];
}

/** Time limit without data; a model may think for minutes before its first word. */
const SILENCE_MS = 300_000;
/** Share of the window that is reserved for the answer when no length is set. */
const OUTPUT_SHARE = 0.2;
const OUTPUT_TOKENS_MAX = 32_000;
const BUDGET_TOKENS_MIN = 1_000;
/** How often a history is shortened further after the endpoint reported it as too long. */
const TIGHTENINGS_MAX = 3;
const TIGHTEN_TO = 0.6;

/** Calls the model until there is an answer, the turn is cancelled, or a retry cannot help. */
export async function askModel(ask: Ask, ports: AskPorts): Promise<Result<StepAnswer, AskFault>> {
  let budget = historyBudget(ask);
  let attempt = 0;
  let tightenings = 0;
  let waitedMs = 0;
  const memory = ask.mediaMemory.of(ask.settings.model);
  let withheld: readonly MediaRef[] = [];
  while (true) {
    attempt++;
    const streamed = { any: false };
    const sent: MediaRef[] = [];
    const answer = await askOnce(ask, ports, { budget, streamed, sent, withheld });
    if (answer.ok) {
      if (answer.value.finish !== "aborted") memory.leaveOut(withheld);
      return answer;
    }
    const { fault, partial } = answer.error;
    if (streamed.any) return err({ fault, partial });
    if (fault.code === "model-context-exceeded" && tightenings < TIGHTENINGS_MAX) {
      tightenings++;
      budget = Math.max(BUDGET_TOKENS_MIN, Math.floor(budget * TIGHTEN_TO));
      await ask.sink.notice("info", `${fault.reason}; trying again with a shorter history`);
      continue;
    }
    const refused = mediaRefusal(fault, sent);
    if (refused !== undefined) {
      // Without these media the endpoint cannot refuse them again, so this ends.
      memory.refuse(refused, sent);
      await ask.sink.notice("warning", refusalNotice(refused, fault));
      continue;
    }
    if (withheld.length === 0 && mayBeMedia(fault, sent)) {
      withheld = sent;
      await ask.sink.notice("warning", withoutMediaNotice(fault));
      continue;
    }
    const jitter = ports.random.fraction();
    const decision = decideRetry(fault, { attempt, waitedMs, jitter });
    if (!decision.retry) {
      const why = decision.why === "" ? "" : ` (given up ${decision.why})`;
      return err({ fault: { ...fault, reason: fault.reason + why }, partial });
    }
    const seconds = (decision.waitMs / 1000).toFixed(decision.waitMs < 10_000 ? 1 : 0);
    await ask.sink.notice(
      "warning",
      `${fault.reason}; trying again in ${seconds} s ` +
        `(attempt ${attempt + 1} of ${attemptsMax(fault)})`,
    );
    waitedMs += decision.waitMs;
    await ports.clock.sleep(decision.waitMs, ask.signal);
    if (ask.signal.aborted) {
      return ok({
        parts: [],
        badCalls: [],
        finish: "aborted",
        tokens: undefined,
      });
    }
  }
}

/** What the model reads instead of the messages that it no longer sees. */
function earlierText(conversation: Ask["conversation"]): string | undefined {
  const summary = conversation.summary()?.text;
  const plan = conversation.plan();
  const isHidden = summary !== undefined || conversation.forgottenTurns() > 0;
  if (!isHidden || !plan.some(({ state }) => state !== "done")) return summary;
  const list = `Your todo list, as you last wrote it:\n${printPlan(plan)}`;
  return summary === undefined ? list : `${summary}\n\n${list}`;
}

async function askOnce(
  ask: Ask,
  ports: AskPorts,
  state: {
    readonly budget: number;
    readonly streamed: { any: boolean };
    /** Receives the media of the request. */
    readonly sent: MediaRef[];
    /** Media that this request leaves out. */
    readonly withheld: readonly MediaRef[];
  },
): Promise<Result<StepAnswer, AskFault>> {
  const { conversation, sink } = ask;
  const forgotten = conversation.forgottenTurns();
  const rules = ask.mediaMemory.of(ask.settings.model).rules(ask.settings.accepts, state.withheld);
  const fitted = fitHistory(showMedia(conversation.messages(), rules), {
    budgetTokens: state.budget,
    forgottenTurns: forgotten,
    summary: earlierText(conversation),
  });
  if (fitted.droppedTurns > forgotten) {
    const count = fitted.droppedTurns - forgotten;
    conversation.forget(count);
    const turns = count === 1 ? "The oldest turn was" : `The oldest ${count} turns were`;
    await sink.notice("info", `${turns} left out so that the conversation fits the model's window`);
  }
  const media = await ask.media.load(mediaOf(fitted.messages));
  const messages = hideLost(fitted.messages, new Set(media.keys()));
  state.sent.push(...mediaOf(messages));
  /** Text blocks of this answer; their ids are unique for the client. */
  const ids = new Map<string, string>();
  const context: Omit<FaultContext, "now" | "hasStarted"> = {
    settings: ask.settings,
    agent: ask.agent,
  };
  return await runStep(ask.loaded, {
    instructions: ask.instructions,
    messages,
    media,
    tools: ask.tools,
    outputTokens: ask.settings.outputTokens,
    effort: ask.settings.effort,
    signal: ask.signal,
    async onText(text, block) {
      state.streamed.any = true;
      const id = ids.get(block) ?? ports.random.uuid();
      ids.set(block, id);
      await sink.text(id, text);
    },
  }, { clock: ports.clock, context, silenceMs: SILENCE_MS });
}

/** Returns the tokens of the window that are left for the history. */
export function historyBudget(ask: Pick<Ask, "settings" | "instructions" | "tools">): number {
  const window = ask.settings.contextTokens;
  const output = ask.settings.outputTokens ??
    Math.min(OUTPUT_TOKENS_MAX, Math.floor(window * OUTPUT_SHARE));
  const fixed = textTokens(ask.instructions) + textTokens(JSON.stringify(ask.tools));
  return Math.max(BUDGET_TOKENS_MIN, window - output - fixed);
}
