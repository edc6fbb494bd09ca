/**
 * The receiver of a turn's events, and the forms of its end. No I/O.
 *
 * @module
 */

import type { SteerRecord, SummaryRecord } from "units/agent_loop/conversation/message.ts";
import type { PlanEntry } from "core/limits/plan.ts";
import type { StepFinish } from "units/agent_loop/model/answer.ts";
import type { Tool, ToolOutcome } from "units/agent_loop/tools/tool.ts";
import type { TurnTokens } from "units/agent_loop/turn/turn_tokens.ts";

/** A reported tool call; `tool` is undefined when there is no such tool. */
export interface ReportedCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: unknown;
  readonly tool: Tool | undefined;
}

/** Receives the events of a turn in order. The turn waits for each promise (back-pressure). */
export interface TurnSink {
  text(messageId: string, text: string): Promise<void>;
  callStarted(call: ReportedCall): Promise<void>;
  callEnded(call: ReportedCall, outcome: ToolOutcome, durationMs: number): Promise<void>;
  notice(severity: "info" | "warning", text: string): Promise<void>;
  /** Reports the todo list. */
  plan(entries: readonly PlanEntry[]): Promise<void>;
  /** Reports a stored message that the owner sent into the turn. */
  steered(record: SteerRecord): Promise<void>;
  /** Reports a stored summary of earlier messages. */
  summary(record: SummaryRecord): Promise<void>;
}

/** How a turn ended, and the tokens that it used; undefined when the endpoint counted none. */
export type TurnEnd = TurnStop & { readonly tokens?: TurnTokens };

/** How a turn ended. `stop` is a regular end, as ACP names it. */
export type TurnStop =
  | {
    readonly kind: "stopped";
    readonly stop: "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";
  }
  | {
    readonly kind: "failed";
    readonly code: string;
    /** Sentence without final period. */
    readonly reason: string;
    readonly hints: readonly string[];
  };

type Stop = Extract<TurnStop, { kind: "stopped" }>["stop"];

/** The end of a turn after an answer that ended so. */
export const STOPS: Readonly<Record<StepFinish, Stop>> = {
  stop: "end_turn",
  "tool-calls": "end_turn",
  length: "max_tokens",
  "content-filter": "refusal",
  aborted: "cancelled",
};

/** A regular end. */
export function stopped(stop: Stop): TurnStop {
  return { kind: "stopped", stop };
}
