/**
 * Decides how a turn continues, from the session file, the journal of the turn, and the approvals
 * of its calls. A call that may have been sent is never sent again. No I/O.
 *
 * | The session file has | The turn |
 * |---|---|
 * | nothing of the turn, and no call was sent | begins |
 * | nothing of the turn, but a call was sent | is lost: its conversation is gone |
 * | an end | has ended; its end is reported again |
 * | a message of the owner after the last answer | continues with the next answer |
 * | a last answer without calls | has its answer; only the end is missing |
 * | calls without a result | continues with these calls |
 * | anything else | continues with the next answer |
 *
 * @module
 */

import { canonicalJson } from "core/risk/call.ts";
import {
  type CallPart,
  callsOf,
  type SessionRecord,
} from "units/agent_loop/conversation/message.ts";
import type { FoundJournal } from "units/agent_loop/journal/record.ts";
import type { ToolOutcome } from "units/agent_loop/tools/tool.ts";

type AnswerRecord = Extract<SessionRecord, { type: "assistant" }>;
type ResultRecord = Extract<SessionRecord, { type: "result" }>;
type EndRecord = Extract<SessionRecord, { type: "end" }>;

/** One answer of a turn and the results of its calls. */
export interface Step {
  readonly answer: AnswerRecord;
  readonly results: ReadonlyMap<string, ResultRecord>;
}

/** A call without a result. */
export interface OpenCall {
  readonly part: CallPart;
  /** `unknown`: the journal cannot tell whether the call was sent. */
  readonly state: "not-sent" | "sent" | "unknown";
  /** When it was sent first; undefined when that is not known. */
  readonly sentAt: number | undefined;
}

/** How a turn continues. */
export type TurnPlan =
  | { readonly kind: "begin" }
  | { readonly kind: "lost"; readonly tools: readonly string[] }
  | { readonly kind: "ended"; readonly steps: readonly Step[]; readonly end: EndRecord }
  | { readonly kind: "answered"; readonly steps: readonly Step[]; readonly answer: AnswerRecord }
  | {
    readonly kind: "continue";
    readonly steps: readonly Step[];
    /** Calls of the last answer that have no result, in its order. */
    readonly open: readonly OpenCall[];
  };

/**
 * Returns the journal as damaged if it misses the mark of a call that was completed: what cut it
 * may have cut the mark of an open call too.
 */
export function judgeJournal(
  records: readonly SessionRecord[],
  turnId: string,
  journal: FoundJournal,
): FoundJournal {
  if (journal.state !== "usable") return journal;
  const isMarked = (step: number, callId: string) =>
    journal.marks.some((mark) => mark.step === step && mark.call_id === callId);
  const isWhole = stepsOf(recordsOf(records, turnId) ?? []).every(({ results }, step) =>
    [...results.values()].every(({ call_id, status }) =>
      status !== "completed" || isMarked(step, call_id)
    )
  );
  return isWhole ? journal : { ...journal, state: "damaged" };
}

/** Decides how the turn with this id continues. */
export function planTurn(
  records: readonly SessionRecord[],
  turnId: string,
  journal: FoundJournal,
): TurnPlan {
  const own = recordsOf(records, turnId);
  if (own === undefined) {
    const tools = [...new Set(journal.marks.map(({ tool }) => tool))];
    const wasSent = tools.length > 0 || journal.state === "damaged";
    return wasSent ? { kind: "lost", tools } : { kind: "begin" };
  }
  const steps = stepsOf(own);
  const end = own.findLast((record) => record.type === "end");
  if (end !== undefined) return { kind: "ended", steps, end };
  const last = steps.at(-1);
  if (last === undefined) return { kind: "continue", steps, open: [] };
  const calls = callsOf(last.answer.parts);
  // The owner's last message came after the answer, so the model must answer it.
  const place = own.findLastIndex(({ type }) => type === "assistant" || type === "steer");
  if (own[place]?.type === "steer") return { kind: "continue", steps, open: [] };
  // An answer that broke off ends its turn, whatever it contains.
  const { finish } = last.answer;
  if (finish === undefined || (calls.length === 0 && finish !== "tool-calls")) {
    return { kind: "answered", steps, answer: last.answer };
  }
  const open = calls.filter(({ call_id }) => !last.results.has(call_id))
    .map((part) => openCall(part, steps.length - 1, journal));
  return { kind: "continue", steps, open };
}

/** Returns the records after the message of a turn; undefined when it is not stored. */
function recordsOf(
  records: readonly SessionRecord[],
  turnId: string,
): readonly SessionRecord[] | undefined {
  const from = records.findLastIndex((record) =>
    record.type === "user" && record.turn_id === turnId
  );
  if (from === -1) return undefined;
  const next = records.findIndex((record, at) => at > from && record.type === "user");
  return records.slice(from + 1, next === -1 ? undefined : next);
}

function stepsOf(records: readonly SessionRecord[]): readonly Step[] {
  const steps: { answer: AnswerRecord; results: Map<string, ResultRecord> }[] = [];
  for (const record of records) {
    if (record.type === "assistant") steps.push({ answer: record, results: new Map() });
    else if (record.type === "result") steps.at(-1)?.results.set(record.call_id, record);
  }
  return steps;
}

function openCall(part: CallPart, step: number, journal: FoundJournal): OpenCall {
  const marks = journal.marks.filter((mark) => mark.step === step && mark.call_id === part.call_id);
  // Sent again after a restart, a call has two marks. Its approval is newer than the first one.
  const sentAt = marks.at(0)?.at;
  if (journal.state !== "usable") return { part, state: "unknown", sentAt: undefined };
  return { part, state: sentAt === undefined ? "not-sent" : "sent", sentAt };
}

/** What is known of an approval that a call may have requested. */
export interface CallApproval {
  readonly mcp: string;
  readonly tool: string;
  readonly arguments: unknown;
  readonly askedAt: number;
  readonly state: "asked" | "decided" | "delivered" | "applied" | "expired" | "superseded";
  readonly isDenied: boolean;
  /** The person who denied it, and why. */
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** What happens to an open call. */
export type CallFate =
  | { readonly kind: "run" }
  | { readonly kind: "unknown" }
  | { readonly kind: "answer"; readonly outcome: ToolOutcome };

/** The call as an approval names it. */
export interface NamedCall {
  readonly mcp: string | undefined;
  readonly tool: string;
}

/**
 * Decides about an open call. A call that requested an approval was not made unless the approval
 * was claimed, because the claim comes first.
 */
export function decideOpenCall(
  { state, part, sentAt }: OpenCall,
  named: NamedCall | undefined,
  approvals: readonly CallApproval[],
): CallFate {
  if (state === "not-sent") return { kind: "run" };
  if (state === "unknown" || named === undefined || sentAt === undefined) {
    return { kind: "unknown" };
  }
  const own = approvals.filter((each) =>
    each.askedAt >= sentAt && each.tool === named.tool && each.mcp === (named.mcp ?? "") &&
    isSame(each.arguments, part.arguments)
  );
  if (own.length === 0 || own.some((each) => each.state === "applied")) return { kind: "unknown" };
  if (own.some(isWaiting)) return { kind: "run" };
  const denied = own.find((each) => each.isDenied);
  if (denied !== undefined) return { kind: "answer", outcome: denial(denied) };
  const isExpired = own.some((each) => each.state === "expired");
  return isExpired
    ? { kind: "answer", outcome: { status: "denied", text: EXPIRED_TEXT } }
    : { kind: "run" };
}

const EXPIRED_TEXT = "[not run: its approval expired without a decision; nothing was done]";

function isWaiting({ state, isDenied }: CallApproval): boolean {
  return state === "asked" || state === "decided" || (state === "delivered" && !isDenied);
}

function denial({ by = "a person", reason }: CallApproval): ToolOutcome {
  const why = reason === undefined ? "" : `: ${reason}`;
  return { status: "denied", text: `[not run: ${by} denied it${why}; nothing was done]` };
}

function isSame(left: unknown, right: unknown): boolean {
  try {
    return canonicalJson(left ?? {}) === canonicalJson(right ?? {});
  } catch {
    // Nested too deep for a canonical form: such a call never had an approval.
    return false;
  }
}

/** Result text that a model reads when a crash lost the real result of a call. */
export const UNKNOWN_TEXT =
  "[outcome unknown: the runtime ended while this call ran. It may have taken effect, or not. It " +
  "was not repeated. Do not assume either: check the current state before you repeat it]";
