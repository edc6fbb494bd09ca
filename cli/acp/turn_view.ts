/**
 * One turn as an editor sees it: previews and events of the dial unit become updates of an ACP
 * session. No text appears twice. Pure: keeps only what it has already shown.
 *
 * @module
 */

import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { TurnUpdate } from "cli/ask_turn.ts";
import { codeContent, type ShownCall, toolKind, toolTitle } from "cli/acp/tool_view.ts";
import { summaryTitle } from "cli/up/turn.ts";
import { createMessageProgress, type MessageStep } from "cli/message_progress.ts";
import { EVENT_PAYLOADS } from "core/dial/event.ts";
import { canonicalJson } from "core/risk/call.ts";

/** `aside` may be overlooked; `plain` must be seen. */
export type NoteWeight = "aside" | "plain";

/** The view of one turn. */
export interface TurnView {
  /** Returns the updates for one event or preview. Kinds without a view return none. */
  take(update: TurnUpdate): readonly SessionUpdate[];
  /** Returns the updates for a notice of fleetctl. */
  note(text: string, weight: NoteWeight): readonly SessionUpdate[];
  /** Returns the id of the open call that an approval is about, if the turn has shown it. */
  openCall(call: ShownCall): string | undefined;
}

/** Properties of a view. */
export interface TurnViewOptions {
  /** Distinguishes calls of several turns: programs number the calls of each turn from 1. */
  readonly prefix: string;
  /** The editor declared that it shows notices. */
  readonly hasNotices: boolean;
}

/** Creates the view of a turn that begins. */
export function createTurnView(options: TurnViewOptions): TurnView {
  return new View(options);
}

const PLAN_STATUS = { pending: "pending", active: "in_progress", done: "completed" } as const;

class View implements TurnView {
  readonly #options: TurnViewOptions;
  readonly #progress = createMessageProgress();
  /** Calls without a result, by the id that the editor knows. */
  readonly #open = new Map<string, ShownCall>();
  /** The message of the last update, if it was a chunk: another message must not continue it. */
  #lastMessageId: string | undefined;
  #notes = 0;

  constructor(options: TurnViewOptions) {
    this.#options = options;
  }

  take(update: TurnUpdate): readonly SessionUpdate[] {
    if (update.type === "turn_preview") {
      return this.#message(this.#progress.preview(update.event.payload));
    }
    switch (update.kind) {
      case "message":
        return this.#whole(update.payload);
      case "tool_call":
        return this.#call(update.payload);
      case "tool_result":
        return this.#result(update.payload);
      case "notice": {
        const notice = EVENT_PAYLOADS.notice.safeParse(update.payload);
        return notice.success ? this.note(notice.data.text, "aside") : [];
      }
      case "plan":
        return this.#plan(update.payload);
      case "turn_steered":
        return this.note("A message was sent into the turn", "aside");
      case "summary": {
        const summary = EVENT_PAYLOADS.summary.safeParse(update.payload);
        return summary.success ? this.note(summaryTitle(summary.data.by), "aside") : [];
      }
      default:
        return [];
    }
  }

  note(text: string, weight: NoteWeight): readonly SessionUpdate[] {
    if (text === "") return [];
    if (this.#options.hasNotices) {
      return [{ sessionUpdate: "notice", severity: "info", title: text }];
    }
    if (weight === "aside") {
      this.#lastMessageId = undefined;
      return [{
        sessionUpdate: "agent_thought_chunk",
        content: { type: "text", text: `${text}\n` },
      }];
    }
    const messageId = `${this.#options.prefix}note-${++this.#notes}`;
    return [this.#chunk(messageId, text)];
  }

  openCall(call: ShownCall): string | undefined {
    const wanted = identity(call);
    if (wanted === undefined) return undefined;
    return [...this.#open].find(([, open]) => identity(open) === wanted)?.[0];
  }

  #whole(payload: Readonly<Record<string, unknown>>): readonly SessionUpdate[] {
    const message = EVENT_PAYLOADS.message.safeParse(payload);
    if (!message.success) return [];
    const updates = this.#message(this.#progress.whole(message.data));
    const cut = message.data.cut_bytes;
    return cut === 0 ? updates : [...updates, ...this.note(`(${cut} bytes cut)`, "aside")];
  }

  #plan(payload: Readonly<Record<string, unknown>>): readonly SessionUpdate[] {
    const plan = EVENT_PAYLOADS.plan.safeParse(payload);
    if (!plan.success) return [];
    this.#lastMessageId = undefined;
    const entries = plan.data.entries.map(({ text, state }) => ({
      content: text,
      priority: "medium" as const,
      status: PLAN_STATUS[state],
    }));
    return [{ sessionUpdate: "plan", entries }];
  }

  #message({ id, text }: MessageStep): readonly SessionUpdate[] {
    return text === "" ? [] : [this.#chunk(id, text)];
  }

  /** Editors that ignore `messageId` join chunks, so a blank line separates two messages. */
  #chunk(messageId: string, text: string): SessionUpdate {
    const isOther = this.#lastMessageId !== undefined && this.#lastMessageId !== messageId;
    const separated = isOther ? `\n\n${text}` : text;
    this.#lastMessageId = messageId;
    const content = { type: "text", text: separated } as const;
    return { sessionUpdate: "agent_message_chunk", messageId, content };
  }

  #call(payload: Readonly<Record<string, unknown>>): readonly SessionUpdate[] {
    const call = EVENT_PAYLOADS.tool_call.safeParse(payload);
    if (!call.success) return [];
    const { call_id, mcp, tool } = call.data;
    const shown = { mcp, tool, arguments: call.data.arguments };
    const toolCallId = this.#options.prefix + call_id;
    const isKnown = this.#open.has(toolCallId);
    this.#open.set(toolCallId, shown);
    this.#lastMessageId = undefined;
    return [{
      sessionUpdate: isKnown ? "tool_call_update" : "tool_call",
      toolCallId,
      title: toolTitle(shown),
      name: tool,
      kind: toolKind(tool),
      status: "in_progress",
      rawInput: shown.arguments,
    }];
  }

  #result(payload: Readonly<Record<string, unknown>>): readonly SessionUpdate[] {
    const result = EVENT_PAYLOADS.tool_result.safeParse(payload);
    if (!result.success) return [];
    const { call_id, status, text, cut_bytes, duration_ms } = result.data;
    const toolCallId = this.#options.prefix + call_id;
    this.#open.delete(toolCallId);
    this.#lastMessageId = undefined;
    return [{
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: status === "completed" ? "completed" : "failed",
      // ACP has no status for a call that was denied or stopped.
      content: codeContent(text === "" && status !== "completed" ? status : text, cut_bytes),
      _meta: { fleetctl: { status, duration_ms } },
    }];
  }
}

/** Returns equal texts for equal calls; undefined if the arguments are nested too deep. */
function identity({ mcp, tool, arguments: given }: ShownCall): string | undefined {
  try {
    return canonicalJson([mcp, tool, given ?? {}]);
  } catch {
    return undefined;
  }
}
