/**
 * Has the model summarise the older part of a conversation, and stores the summary. Before each
 * answer of a turn if the history approaches the window, or because the owner asked. When the
 * summary fails, the history is shortened without one (`conversation/window.ts`).
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { ok, type Result } from "core/result.ts";
import type { StepAnswer } from "units/agent_loop/model/answer.ts";
import type { SummaryRecord } from "units/agent_loop/conversation/message.ts";
import {
  boundSummary,
  planBefore,
  planSummary,
  printOlder,
  SUMMARY_INSTRUCTIONS,
  type SummaryPlan,
} from "units/agent_loop/conversation/summary.ts";
import type { Conversation } from "units/agent_loop/conversation/store.ts";
import {
  type AskFault,
  askModel,
  type AskPorts,
  historyBudget,
} from "units/agent_loop/turn/ask_model.ts";
import type { MediaMemory } from "units/agent_loop/media/refusal.ts";
import type { MediaStore } from "units/agent_loop/media/store.ts";
import type { ToolDeclaration } from "units/agent_loop/model/step.ts";
import type { TurnModel } from "units/agent_loop/turn/turn_model.ts";
import { stopped, type TurnSink, type TurnStop } from "units/agent_loop/turn/sink.ts";
import { storedTokens, type TokenSum } from "units/agent_loop/turn/turn_tokens.ts";

/** What the summaries of one turn need. */
export interface SummaryContext {
  readonly agent: string;
  readonly models: TurnModel;
  readonly instructions: string;
  readonly conversation: Conversation;
  readonly media: MediaStore;
  readonly mediaMemory: MediaMemory;
  readonly sink: TurnSink;
  readonly signal: AbortSignal;
  readonly tokens: TokenSum;
  /** Checks the spend ceilings; returns the end of the turn when the model may not be called. */
  readonly mayCall: () => Promise<TurnStop | undefined>;
  /** Switches to the fallback if that can help after this fault, and tells the owner. */
  readonly toFallback: (fault: AskFault) => Promise<boolean>;
  readonly ports: AskPorts;
}

/** Writes the summaries of one turn. */
export interface Summariser {
  /**
   * Summarises the older part if the history approaches the window. Returns the end of the turn if
   * it may not continue.
   */
  ifDue(tools: readonly ToolDeclaration[]): Promise<TurnStop | undefined>;
  /** Summarises everything before the running turn. */
  all(focus: string | undefined): Promise<SummaryOutcome>;
}

/** How a requested summary ended; `reason` is a sentence without final period. */
export type SummaryOutcome =
  | { readonly kind: "stored" }
  | { readonly kind: "nothing" }
  | { readonly kind: "failed"; readonly reason: string }
  | { readonly kind: "over"; readonly end: TurnStop };

/** Creates the summariser of a turn. */
export function createSummariser(context: SummaryContext): Summariser {
  const { conversation, models, sink } = context;
  const { settings } = models.current;
  /** After a failure the turn continues without a summary, instead of asking before each answer. */
  let hasFailed = settings.provider === "demo";
  const state = () => ({
    records: conversation.records(),
    from: conversation.visibleFrom(),
    summary: conversation.summary(),
  });
  const budgetFor = (tools: readonly ToolDeclaration[]) =>
    historyBudget({ ...context, ...models.current, tools });
  return {
    async ifDue(tools) {
      const budget = budgetFor(tools);
      const plan = hasFailed ? undefined : planSummary(state(), budget);
      if (plan === undefined) return undefined;
      const outcome = await summarise(context, plan, { budget, focus: undefined });
      if (outcome.kind === "over") return outcome.end;
      if (outcome.kind !== "failed") return undefined;
      hasFailed = true;
      await sink.notice("warning", `${outcome.reason}. Older messages are left out instead`);
      return undefined;
    },
    async all(focus) {
      if (settings.provider === "demo") {
        return { kind: "failed", reason: "The demo model cannot summarise the conversation" };
      }
      const { records } = state();
      const plan = planBefore(state(), records.findLastIndex((record) => record.type === "user"));
      if (plan === undefined) return { kind: "nothing" };
      return await summarise(context, plan, { budget: budgetFor([]), focus });
    },
  };
}

async function summarise(
  context: SummaryContext,
  plan: SummaryPlan,
  { budget, focus }: { readonly budget: number; readonly focus: string | undefined },
): Promise<SummaryOutcome> {
  const end = await context.mayCall();
  if (end !== undefined) return { kind: "over", end };
  const { conversation, tokens, signal } = context;
  const first = conversation.records()[plan.from];
  const answer = await requestSummary(context, plan, { budget, focus });
  if (signal.aborted) return { kind: "over", end: stopped("cancelled") };
  if (!answer.ok) {
    if (await context.toFallback(answer.error)) {
      return await summarise(context, plan, { budget, focus });
    }
    tokens.add(undefined);
    const { reason } = answer.error.fault;
    return { kind: "failed", reason: `Earlier messages could not be summarised: ${reason}` };
  }
  tokens.add(answer.value.tokens);
  const text = boundSummary(answer.value.text, budget);
  if (text === undefined || first === undefined) {
    const reason = "Earlier messages could not be summarised: the model gave no text";
    return { kind: "failed", reason };
  }
  await storeSummary(context, {
    text,
    by: "model",
    from: conversation.records().indexOf(first),
    ...defined({ model: context.models.fallbackName, tokens: storedTokens(answer.value.tokens) }),
  });
  return { kind: "stored" };
}

/** Stores a summary of everything before the record `from`, then reports it. */
export async function storeSummary(
  { conversation, sink, ports }: Pick<SummaryContext, "conversation" | "sink" | "ports">,
  { from, ...given }: Pick<SummaryRecord, "text" | "by" | "model" | "tokens"> & {
    readonly from: number;
  },
): Promise<void> {
  const record: SummaryRecord = {
    type: "summary",
    at: ports.clock.now(),
    id: ports.random.uuid(),
    kept: conversation.records().length - from,
    ...given,
  };
  await conversation.append(record);
  await sink.summary(record);
}

async function requestSummary(
  context: SummaryContext,
  plan: SummaryPlan,
  { budget, focus }: { readonly budget: number; readonly focus: string | undefined },
): Promise<Result<{ readonly text: string; readonly tokens: StepAnswer["tokens"] }, AskFault>> {
  const { conversation, sink, ports } = context;
  const text = printOlder(plan.older, {
    previous: conversation.summary()?.text,
    focus,
    budgetTokens: budget,
  });
  const answer = await askModel({
    ...context,
    ...context.models.current,
    // The request is the whole history of this call.
    conversation: {
      messages: () => [{ role: "user", text }],
      summary: () => undefined,
      plan: () => [],
      forgottenTurns: () => 0,
      forget: () => {},
    },
    instructions: SUMMARY_INSTRUCTIONS,
    tools: [],
    // The owner reads the finished summary, and not its stream.
    sink: { notice: sink.notice, text: () => Promise.resolve() },
  }, ports);
  if (!answer.ok) return answer;
  const { parts, tokens } = answer.value;
  const texts = parts.flatMap((part) => part.type === "text" ? [part.text] : []);
  return ok({ text: texts.join("\n"), tokens });
}
