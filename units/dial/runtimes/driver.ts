/**
 * What a dial unit needs from a runtime, for any wire protocol. Types only. One driver per protocol
 * implements `RuntimeDriver` in this folder.
 *
 * @module
 */

import type { PlanEntry } from "core/limits/plan.ts";
import type { ImageInfo, ImageType } from "core/images/image.ts";

/** Tokens of one model in one turn. A token is counted in one of the four fields. */
export interface ModelUsage {
  /** The model's id, or `UNNAMED_MODEL`. */
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedReadTokens: number;
  readonly cachedWriteTokens: number;
}

/** An image of a message. Its path is in the text of the message too. */
export interface PromptImage {
  readonly path: string;
  readonly type: ImageType;
  readonly base64: string;
}

/** A file of a message that claims to be a PDF. */
export interface PromptPdf {
  readonly name: string;
  readonly path: string;
}

/** A message for the runtime. */
export interface Prompt {
  readonly turnId: string;
  readonly text: string;
  /** Within `IMAGE_LIMITS`. */
  readonly images?: readonly PromptImage[];
  /** Files that claim to be PDFs. Their paths are in the text too. */
  readonly pdfs?: readonly PromptPdf[];
}

/** An image that the program or a tool produced: its content, or a file of the agent. */
export type ProducedImage =
  | (ImageInfo & { readonly base64: string })
  | { readonly path: string };

/** What a runtime reports during a turn. Sizes are already within `TURN_LIMITS`. */
export type RuntimeUpdate =
  | { readonly kind: "text_delta"; readonly messageId: string; readonly text: string }
  /** A whole message of the assistant; replaces the deltas with the same id. */
  | { readonly kind: "message"; readonly messageId: string; readonly text: string }
  /** A call. A repeated `callId` updates the arguments. */
  | {
    readonly kind: "tool_call";
    readonly callId: string;
    /** Catalog name, or undefined for a built-in tool of the runtime. */
    readonly mcp: string | undefined;
    readonly tool: string;
    readonly arguments: unknown;
  }
  | {
    readonly kind: "tool_result";
    readonly callId: string;
    readonly status: "completed" | "failed" | "denied" | "stopped";
    readonly text: string;
    /** Bytes cut from the end of the text; 0 when it is whole. */
    readonly cutBytes: number;
    readonly durationMs: number;
  }
  /** An image, after the result of its call. */
  | { readonly kind: "image"; readonly callId?: string; readonly image: ProducedImage }
  | { readonly kind: "notice"; readonly text: string }
  /** The todo list of the turn, within `PLAN_LIMITS`; it replaces the one before. */
  | { readonly kind: "plan"; readonly entries: readonly PlanEntry[] }
  /** A message of the owner that the running turn has stored. */
  | { readonly kind: "steered"; readonly messageId: string; readonly text: string }
  /** The summary that replaces the older part of the conversation for the model. */
  | {
    readonly kind: "summary";
    readonly summaryId: string;
    readonly text: string;
    readonly by: "model" | "owner";
  }
  /** The tokens of the turn; at most once, before its end, within `USAGE_LIMITS`. */
  | {
    readonly kind: "usage";
    readonly models: readonly ModelUsage[];
    /** The turn used more than this. */
    readonly isPartial?: true;
  };

/** A message for the running turn; `id` is that of the turn that it would otherwise be. */
export interface SteerMessage {
  readonly turnId: string;
  readonly id: string;
  readonly text: string;
}

/** How a turn ended. `code` is stable, `reason` is for people. */
export interface TurnOutcome {
  readonly outcome: "completed" | "cancelled" | "failed" | "interrupted";
  readonly code?: string;
  readonly reason?: string;
}

/** A started runtime with one conversation. */
export interface RuntimeSession {
  /**
   * Whether a prompt with the id of a turn that an earlier process left open continues it. The
   * turn then reports again what it has reported, with the same ids.
   */
  readonly goesOn?: boolean;
  /**
   * Runs one turn; one at a time. Updates arrive in order. The next one is not read from the
   * runtime before the promise of `onUpdate` resolves (back-pressure). Never rejects: every failure
   * is an outcome, including the death of the runtime.
   */
  prompt(
    turn: Prompt,
    onUpdate: (update: RuntimeUpdate) => Promise<void>,
  ): Promise<TurnOutcome>;
  /**
   * Passes a message to the running turn; resolves when the program has received it. The update
   * `steered` confirms it. Without it, the message did not become part of the turn. Absent when the
   * program accepts none. Never rejects.
   */
  steer?(message: SteerMessage): Promise<void>;
  /** Asks the runtime to stop the running turn; its outcome is then `cancelled`. */
  cancel(): Promise<void>;
  /** Returns when the program last wrote something, by the monotonic clock. */
  lastOutputMs(): number;
  /**
   * Returns what would be lost if the program were ended between turns. Undefined when its next
   * start continues where it stopped.
   */
  unfinished(): string | undefined;
  /** Resolves with a sentence that states how the runtime's process ended. */
  readonly ended: Promise<string>;
  /** Ends the runtime; SIGKILL after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

/** Starts sessions of one runtime. */
export interface RuntimeDriver {
  /**
   * Starts the program and resumes the conversation, or begins one; without a name, the default
   * conversation. Rejects with the reason. `signal` ends a start that is no longer needed. `folder`
   * is the working folder, if it is not the workspace.
   */
  start(signal?: AbortSignal, conversation?: string, folder?: string): Promise<RuntimeSession>;
}
