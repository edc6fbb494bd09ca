/**
 * Where a turn reports to while it runs, and how it ends. Types only.
 *
 * @module
 */

import type { Tool, ToolOutcome } from "units/agent_loop/tools/tool.ts";

/** A tool call as it is reported; `tool` is undefined when there is no such tool. */
export interface ReportedCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: unknown;
  readonly tool: Tool | undefined;
}

/** Takes the events of a turn in order; each promise is waited for, which slows the turn down. */
export interface TurnSink {
  text(messageId: string, text: string): Promise<void>;
  callStarted(call: ReportedCall): Promise<void>;
  callEnded(call: ReportedCall, outcome: ToolOutcome, durationMs: number): Promise<void>;
  notice(severity: "info" | "warning", text: string): Promise<void>;
}

/** How a turn ended. `stop` is a regular end in the words of ACP. */
export type TurnEnd =
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
