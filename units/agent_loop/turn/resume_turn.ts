/**
 * The start of a turn: begins it, or continues one that an earlier runtime began under the same
 * id. Reports stored answers and results again, because the earlier runtime may have ended before
 * its client received them; the client skips those that it has. ADR 0036.
 *
 * @module
 */

import { callsOf } from "units/agent_loop/conversation/message.ts";
import { defined } from "core/defined.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Conversation } from "units/agent_loop/conversation/store.ts";
import {
  isJournalId,
  type Journals,
  NO_JOURNAL,
  type TurnJournal,
} from "units/agent_loop/journal/files.ts";
import {
  type CallApproval,
  decideOpenCall,
  judgeJournal,
  type OpenCall,
  planTurn,
  type Step,
  type TurnPlan,
  UNKNOWN_TEXT,
} from "units/agent_loop/journal/plan.ts";
import type { FoundJournal } from "units/agent_loop/journal/record.ts";
import type { MediaStore, NewPdf } from "units/agent_loop/media/store.ts";
import type { Tool } from "units/agent_loop/tools/tool.ts";
import {
  type CallContext,
  finishCall,
  reportedCall,
  runCalls,
} from "units/agent_loop/turn/run_calls.ts";
import { stopped, STOPS, type TurnSink, type TurnStop } from "units/agent_loop/turn/sink.ts";
import type { TokenSum } from "units/agent_loop/turn/turn_tokens.ts";

/** What a turn needs to begin or to continue. */
export interface BeginContext {
  readonly conversation: Conversation;
  /** Returns the current tools; a server that starts late is included from the next step. */
  readonly tools: () => readonly Tool[];
  readonly journals: Journals;
  readonly media: MediaStore;
  /** Returns the approvals of the agent's calls; undefined when they cannot be read. */
  readonly approvals: () => Promise<readonly CallApproval[] | undefined>;
  readonly ports: { readonly clock: Pick<Clock, "now">; readonly log: Log };
}

/** A requested turn. */
export interface BeginInput {
  readonly turnId: string | undefined;
  readonly text: string;
  /** Images of the message in base64, each within the limits. */
  readonly images: readonly string[];
  readonly pdfs: readonly NewPdf[];
  readonly sink: TurnSink;
}

type Continued = Extract<TurnPlan, { kind: "continue" }>;

/** A turn that has begun, or whose end was stored before. */
export type BegunTurn =
  | { readonly kind: "over"; readonly end: TurnStop }
  | {
    readonly kind: "open";
    readonly journal: TurnJournal;
    /** Number of answers that are stored. */
    readonly steps: number;
    /** What an earlier runtime left of the turn. */
    readonly resume: Resume | undefined;
  };

/** What an earlier runtime left of a turn. */
export interface Resume {
  readonly plan: Continued;
  readonly journal: FoundJournal;
}

/** Begins the turn or finds how it continues. Rejects when that cannot be stored. */
export async function beginTurn(
  context: BeginContext,
  input: BeginInput,
  tokens: TokenSum,
): Promise<BegunTurn> {
  const { conversation, journals } = context;
  const { turnId } = input;
  if (turnId === undefined || !isJournalId(turnId)) {
    await beginNew(context, input);
    return { kind: "open", journal: NO_JOURNAL, steps: 0, resume: undefined };
  }
  const owner = { turnId, session: conversation.id };
  const records = conversation.records();
  const journal = judgeJournal(records, turnId, await journals.read(owner));
  const plan = planTurn(records, turnId, journal);
  if (plan.kind === "lost") return { kind: "over", end: lost(plan.tools) };
  if (plan.kind === "begin") {
    // The journal comes first: without one, the calls of a restarted turn would be unknown.
    const opened = await journals.open(owner, journal);
    await beginNew(context, input);
    return { kind: "open", journal: opened, steps: 0, resume: undefined };
  }
  context.ports.log.info("turn continues", {
    turn: turnId,
    plan: plan.kind,
    journal: journal.state,
  });
  addTokens(plan.steps, tokens);
  await replayOwn(conversation, input.sink, tokens);
  if (plan.kind !== "continue") {
    return { kind: "over", end: await finishStored(context, input, plan) };
  }
  const resume = { plan, journal };
  const steps = plan.steps.length;
  return { kind: "open", journal: await journals.open(owner, journal), steps, resume };
}

async function beginNew(
  { conversation, media: store, ports }: BeginContext,
  input: BeginInput,
): Promise<void> {
  await conversation.closeOpenTurn();
  const pdfs = await store.keepPdfs(input.pdfs);
  const media = [...pdfs.media, ...await store.keepImages(input.images)];
  for (const note of pdfs.notes) await input.sink.notice("warning", note.slice(1, -1));
  await conversation.append({
    type: "user",
    at: ports.clock.now(),
    text: [input.text, ...pdfs.notes].join("\n"),
    ...defined({ turn_id: input.turnId }),
    ...(media.length === 0 ? {} : { media }),
  });
}

/** Reports the summaries and the owner's messages that the last turn has stored. */
async function replayOwn(
  conversation: Conversation,
  sink: TurnSink,
  tokens: TokenSum,
): Promise<void> {
  const records = conversation.records();
  const own = records.slice(records.findLastIndex((record) => record.type === "user") + 1);
  for (const record of own) {
    if (record.type === "steer") await sink.steered(record);
    if (record.type !== "summary") continue;
    addTokens([{ answer: record }], tokens);
    await sink.summary(record);
  }
}

function addTokens(
  steps: readonly { readonly answer: Pick<Step["answer"], "tokens" | "model"> }[],
  tokens: TokenSum,
): void {
  for (const { answer: { tokens: counted, model } } of steps) {
    tokens.add(
      counted && {
        input: counted.input,
        output: counted.output,
        cachedRead: counted.cached_read,
        cachedWrite: counted.cached_write,
      },
      model,
    );
  }
}

/** Reports a turn whose answer is stored, and returns its end. */
async function finishStored(
  context: BeginContext,
  { sink }: BeginInput,
  plan: Extract<TurnPlan, { kind: "ended" | "answered" }>,
): Promise<TurnStop> {
  await replaySteps(plan.steps, { ...context, tools: context.tools() }, sink);
  if (plan.kind === "ended") return storedEnd(plan.end);
  const { finish } = plan.answer;
  const known = Object.entries(STOPS).find(([name]) => name === finish);
  return known === undefined ? CUT_ANSWER : stopped(known[1]);
}

/**
 * Reports what is stored of the turn, settles the calls that have no result, and runs those that
 * were certainly not sent.
 */
export async function resumeCalls(
  context: BeginContext,
  { plan, journal }: Resume,
  calls: Omit<CallContext, "step">,
): Promise<TurnStop | undefined> {
  const { sink, tools } = calls;
  await replaySteps(plan.steps, calls, sink);
  const last = plan.steps.at(-1);
  if (last === undefined || plan.open.length === 0) return undefined;
  if (journal.state !== "usable") await sink.notice("warning", JOURNAL_LOST[journal.state]);
  const wasSent = plan.open.some((call) => call.state === "sent");
  const approvals = wasSent ? await context.approvals() : [];
  const toRun: OpenCall[] = [];
  for (const open of plan.open) {
    const call = reportedCall(open.part, tools);
    // Without the approvals it cannot be known which calls still wait for one.
    const fate = decideOpenCall(open, call.tool, approvals ?? []);
    if (fate.kind === "run") {
      toRun.push(open);
      continue;
    }
    await sink.callStarted(call);
    const outcome = fate.kind === "answer"
      ? fate.outcome
      : { status: "stopped" as const, text: UNKNOWN_TEXT };
    await finishCall(call, outcome, 0, calls);
    if (fate.kind === "unknown") await sink.notice("warning", unknownNotice(call));
  }
  const badCalls = (last.answer.bad_calls ?? []).map(({ call_id, reason }) => ({
    callId: call_id,
    reason,
  }));
  const run = { calls: toRun.map(({ part }) => part), badCalls };
  await runCalls(run, { ...calls, step: plan.steps.length - 1 });
  return undefined;
}

/** Reports stored answers and results. */
async function replaySteps(
  steps: readonly Step[],
  { tools, media }: { readonly tools: readonly Tool[]; readonly media: MediaStore },
  sink: TurnSink,
): Promise<void> {
  for (const [step, { answer, results }] of steps.entries()) {
    for (const [place, part] of answer.parts.entries()) {
      if (part.type === "text") await sink.text(`stored-${step}-${place}`, part.text);
    }
    for (const part of callsOf(answer.parts)) {
      const result = results.get(part.call_id);
      if (result === undefined) continue;
      const call = reportedCall(part, tools);
      await sink.callStarted(call);
      const shown = result.media?.filter(({ kind }) => kind === "image") ?? [];
      const stored = await media.load(shown);
      const images = [...stored.values()];
      const outcome = { ...result, ...(images.length === 0 ? {} : { images }) };
      await sink.callEnded(call, outcome, result.duration_ms ?? 0);
    }
  }
}

function unknownNotice(call: { readonly name: string; readonly tool: Tool | undefined }): string {
  const { mcp, tool } = call.tool ?? { mcp: undefined, tool: call.name };
  return `It is unknown whether ${
    mcp === undefined ? tool : `${mcp} / ${tool}`
  } took effect: the ` +
    "runtime ended while the call ran. It was not repeated";
}

/** Notices about a journal that cannot say which calls were sent. */
const JOURNAL_LOST: Readonly<Record<Exclude<FoundJournal["state"], "usable">, string>> = {
  missing: "The journal of the turn is missing, so its open calls are unknown",
  damaged: "The journal of the turn is damaged, so its open calls are unknown",
  foreign: "The journal of the turn belongs to another turn, so its open calls are unknown",
  "other-version":
    "The journal of the turn was written by another version, so its open calls are unknown",
};

const CUT_ANSWER: TurnStop = {
  kind: "failed",
  code: "turn-answer-cut",
  reason: "The model's answer broke off, and the runtime ended before it could say why",
  hints: [],
};

function storedEnd(
  { outcome, code, reason }: Extract<TurnPlan, { kind: "ended" }>["end"],
): TurnStop {
  if (outcome === "completed") return stopped("end_turn");
  if (outcome === "cancelled") return stopped("cancelled");
  const stop = Object.values(STOPS).find((each) => each === code);
  if (stop !== undefined) return stopped(stop);
  if (code === "max_turn_requests") return stopped(code);
  return {
    kind: "failed",
    code: code ?? "turn-interrupted",
    reason: reason ?? "The turn was interrupted",
    hints: [],
  };
}

function lost(tools: readonly string[]): TurnStop {
  const called = tools.length === 0
    ? ""
    : `. These tools may have been called: ${tools.join(", ")}`;
  return {
    kind: "failed",
    code: "turn-lost",
    reason:
      "The turn cannot continue: its conversation is gone, and it is unknown what took effect" +
      called,
    hints: [],
  };
}
